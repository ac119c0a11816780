import { Link } from "@tanstack/react-router";
import { useLayoutEffect, useRef, useState } from "react";
import styles from "./BarChart.module.css";
import { formatDay } from "./format.ts";
import { ticksOf } from "./ticks.ts";
import { useBrush } from "./useBrush.ts";

export interface Bar {
  /** A day such as 2026-01-31. */
  day: string;
  /** Null where it is not known. */
  value: number | null;
}

interface Props {
  label: string;
  bars: Bar[];
  format: (value: number | null) => string;
  /** What its links filter the logs by, beside the day. */
  filters?: { slug: string | undefined };
  /** Dragging over bars chooses their days. */
  onBrush?: (from: string, to: string) => void;
}

const LABEL_PX = 72;
const HEIGHT = 190;
const LEFT = 56;
const BOTTOM = 22;
const TOP = 10;

/** A bar for each day; each leads to the logs of its day. A table with the same figures belongs below it. */
export function BarChart({ label, bars, format, filters, onBrush }: Props) {
  const { frame, width } = useWidth();
  const ticks = ticksOf(bars.map(({ value }) => value ?? 0));
  const step = (width - LEFT) / Math.max(1, bars.length);
  const yOf = (value: number) => HEIGHT - BOTTOM - (value / ticks.at(-1)!) * (HEIGHT - BOTTOM - TOP);
  const { chosen, handlers } = useBrush({
    indexAt: (clientX) => {
      const x = clientX - (frame.current?.getBoundingClientRect().left ?? 0) - LEFT;
      return Math.max(0, Math.min(bars.length - 1, Math.floor(x / step)));
    },
    onBrush: onBrush && ((first, last) => onBrush(bars[first]!.day, bars[last]!.day)),
  });
  const every = Math.ceil((bars.length * LABEL_PX) / Math.max(LABEL_PX, width - LEFT));
  return (
    <svg
      ref={frame}
      className={styles.chart}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      height={HEIGHT}
      role="group"
      aria-label={label}
      {...handlers}
    >
      {chosen && (
        <rect
          className={styles.brush}
          x={LEFT + chosen[0] * step}
          y={TOP}
          width={(chosen[1] - chosen[0] + 1) * step}
          height={HEIGHT - BOTTOM - TOP}
        />
      )}
      {ticks.map((value) => (
        <Line key={value} y={yOf(value)} width={width} words={format(value)} />
      ))}
      {bars.map(({ day, value }, n) => {
        const x = LEFT + n * step;
        const words = `${formatDay(day)}: ${format(value)}`;
        return (
          <Link
            key={day}
            to="/logs"
            search={{ ...filters, day }}
            className={styles.column}
            aria-label={words}
          >
            <title>{words}</title>
            <rect className={styles.hit} x={x} y={TOP} width={step} height={HEIGHT - BOTTOM - TOP} />
            <rect
              className={styles.bar}
              x={x + step * 0.15}
              y={yOf(value ?? 0)}
              width={step * 0.7}
              height={HEIGHT - BOTTOM - yOf(value ?? 0)}
              rx={Math.min(2, step / 6)}
            />
            {n % every === 0 && (
              <text className={styles.words} x={x + step / 2} y={HEIGHT - 5} textAnchor="middle">
                {formatDay(day)}
              </text>
            )}
          </Link>
        );
      })}
    </svg>
  );
}

function Line({ y, width, words }: { y: number; width: number; words: string }) {
  return (
    <g>
      <line className={styles.line} x1={LEFT} x2={width} y1={y} y2={y} />
      <text className={styles.words} x={LEFT - 8} y={y + 4} textAnchor="end">
        {words}
      </text>
    </g>
  );
}

/** The width of a drawing in pixels, so that its words keep their size. */
function useWidth() {
  const frame = useRef<SVGSVGElement>(null);
  const [width, setWidth] = useState(LEFT); // measured before anything is shown
  useLayoutEffect(() => {
    const drawing = frame.current;
    if (!drawing) return;
    const measure = () => setWidth(Math.max(LEFT, Math.round(drawing.getBoundingClientRect().width)));
    measure(); // an observer tells it only after the first frame, in which the bars would stand elsewhere
    const observer = new ResizeObserver(measure);
    observer.observe(drawing);
    return () => observer.disconnect();
  }, []);
  return { frame, width };
}

/** How much of the largest a value is. */
export function Share({ value, of }: { value: number; of: number }) {
  return (
    <span className={styles.share} aria-hidden="true">
      <span style={{ width: `${of > 0 ? (100 * value) / of : 0}%` }} />
    </span>
  );
}
