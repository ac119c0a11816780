import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { formatLatency } from "../../parts/format.ts";
import { useSavedScroll } from "../../parts/useSavedScroll.ts";
import { countBelow, hasBelow, type Outline } from "./outline.ts";
import styles from "./Trace.module.css";
import { WaterfallRow } from "./WaterfallRow.tsx";

export const ROW_PX = 30;

interface Props {
  outline: Outline;
  shown: readonly number[];
  selected: number | undefined;
  collapsed: ReadonlySet<string>;
  /** The steps that a search has found; undefined without one. */
  found: ReadonlySet<number> | undefined;
  onSelect: (n: number) => void;
  onCollapse: (n: number, isCollapsed: boolean) => void;
  /** By which its place is found again after a reload. */
  scrollId: string;
}

/** The steps as a tree, each with its time beside it; only those in view are rendered. */
export function Waterfall(props: Props) {
  const { outline, shown, selected, collapsed, found, onSelect, onCollapse, scrollId } = props;
  const frame = useRef<HTMLDivElement>(null);
  const saved = useSavedScroll(scrollId);
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
    scrollPaddingStart: ROW_PX,
    initialOffset: saved ?? 0,
  });
  const at = selected === undefined ? -1 : shown.indexOf(selected);
  const isReturn = useRef(saved !== undefined);
  useEffect(() => {
    if (at === -1) return;
    // Whoever had scrolled away from the selected step returns to the place, not to the step.
    if (!isReturn.current) virtual.scrollToIndex(at, { align: "auto" });
    isReturn.current = false;
  }, [at, virtual]);
  const items = virtual.getVirtualItems();
  const isInView = items.some(({ index }) => index === at);
  return (
    <div
      ref={frame}
      data-scroll-restoration-id={scrollId}
      className={styles.waterfall}
      role="treegrid"
      aria-label="Steps"
      aria-rowcount={shown.length + 1}
      aria-activedescendant={isInView ? `step-${at}` : undefined}
      tabIndex={0}
    >
      <div className={styles.head} role="row">
        <span role="columnheader">Step</span>
        <span role="columnheader" className={styles.scale}>
          <span>0</span>
          <span>{formatLatency(outline.spanMs / 2)}</span>
          <span>{formatLatency(outline.spanMs)}</span>
        </span>
        <span role="columnheader" className={styles.number}>
          Time
        </span>
        <span role="columnheader" className={`${styles.number} ${styles.optional}`}>
          Tokens
        </span>
        <span role="columnheader" className={`${styles.number} ${styles.optional}`}>
          Cost
        </span>
      </div>
      <div role="rowgroup" className={styles.rows} style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const n = shown[index];
          const step = n === undefined ? undefined : outline.steps[n];
          if (n === undefined || !step) return null;
          return (
            <WaterfallRow
              key={step.id}
              index={index}
              top={start}
              step={step}
              spanMs={outline.spanMs}
              below={countBelow(outline, n)}
              isCollapsed={hasBelow(outline, n) && collapsed.has(step.id)}
              isSelected={n === selected}
              isAside={found !== undefined && !found.has(n)}
              onSelect={() => onSelect(n)}
              onToggle={() => onCollapse(n, !collapsed.has(step.id))}
            />
          );
        })}
      </div>
    </div>
  );
}
