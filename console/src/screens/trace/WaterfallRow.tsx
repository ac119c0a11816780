import { formatCompact, formatCost, formatCount, formatLatency } from "../../parts/format.ts";
import { Icon } from "../../parts/Icon.tsx";
import type { Step } from "./queries.ts";
import { stepTypes } from "./stepTypes.ts";
import styles from "./Trace.module.css";

const INDENT_PX = 14;
/** Deeper steps are no further to the right; their depth stands before them instead. */
const MAX_INDENTS = 9;

interface Props {
  index: number;
  top: number;
  step: Step;
  spanMs: number;
  /** How many steps are below. */
  below: number;
  isCollapsed: boolean;
  isSelected: boolean;
  /** It is there only because something below it was found. */
  isAside: boolean;
  onSelect: () => void;
  onToggle: () => void;
}

export function WaterfallRow(props: Props) {
  const { index, top, step, spanMs, below, isCollapsed, isSelected, isAside, onSelect } = props;
  const { durationMs, subtree } = step;
  const hasError = step.status === "ERROR";
  const tokens = subtree ? subtree.inputTokens + subtree.outputTokens : 0;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid has the keys
    <div
      id={`step-${index}`}
      role="row"
      aria-rowindex={index + 2}
      aria-level={step.depth + 1}
      aria-selected={isSelected}
      aria-expanded={below === 0 ? undefined : !isCollapsed}
      className={isAside ? `${styles.row} ${styles.aside}` : styles.row}
      style={{ transform: `translateY(${top}px)` }}
      title={tooltipOf(step, below)}
      onClick={onSelect}
    >
      <StepName {...props} />
      <span role="gridcell" className={styles.lane}>
        <span className={hasError ? `${styles.bar} ${styles.bad}` : styles.bar} style={barOf(step, spanMs)} />
      </span>
      <span role="gridcell" className={styles.number}>
        {durationMs == null ? "–" : formatLatency(durationMs)}
      </span>
      <span role="gridcell" className={`${styles.number} ${styles.optional}`}>
        {tokens > 0 ? formatCompact(tokens) : ""}
      </span>
      <span role="gridcell" className={`${styles.number} ${styles.optional}`}>
        {subtree && subtree.cost > 0 ? formatCost(subtree.cost) : ""}
      </span>
    </div>
  );
}

function StepName({ step, below, isCollapsed, onToggle }: Props) {
  const { depth, name, type, status, missingParent } = step;
  return (
    <span
      role="gridcell"
      className={styles.step}
      style={{ paddingLeft: Math.min(depth, MAX_INDENTS) * INDENT_PX }}
    >
      {below === 0 ? (
        <span className={styles.noToggle} />
      ) : (
        <button
          type="button"
          className={isCollapsed ? styles.toggle : `${styles.toggle} ${styles.open}`}
          aria-label={isCollapsed ? `Expand ${name}` : `Collapse ${name}`}
          tabIndex={-1}
          onClick={(event) => {
            event.stopPropagation();
            onToggle();
          }}
        >
          <Icon name="chevron" size={12} />
        </button>
      )}
      {depth > MAX_INDENTS && <span className={styles.depth}>{depth + 1}</span>}
      <span className={`${styles.type} ${styles[type.toLowerCase()] ?? ""}`}>{stepTypes[type].short}</span>
      {status === "ERROR" && (
        <span className={styles.error}>
          <Icon name="alert" size={13} />
          <span className={styles.unseen}>error</span>
        </span>
      )}
      {missingParent && <span className={styles.orphan}>no parent</span>}
      <span className={styles.name}>{name}</span>
      {isCollapsed && <span className={styles.depth}>+{formatCount(below)}</span>}
    </span>
  );
}

/** Where a step is on the time of the whole trace. */
function barOf({ offsetMs, durationMs }: Step, spanMs: number) {
  if (spanMs <= 0) return { left: 0, width: "100%" };
  const left = Math.max(0, Math.min(1, offsetMs / spanMs));
  const width = Math.max(0, Math.min(1 - left, (durationMs ?? 0) / spanMs));
  return { left: `${left * 100}%`, width: `max(2px, ${width * 100}%)` };
}

function tooltipOf({ name, type, offsetMs, durationMs, subtree }: Step, below: number): string {
  const own = `${name}: ${stepTypes[type].words}, begins at ${formatLatency(offsetMs)}, takes ${formatLatency(durationMs)}`;
  if (!subtree) return own;
  const { errors, inputTokens, outputTokens, cost } = subtree;
  const all = `${formatCount(below + 1)} ${below === 0 ? "step" : "steps"}, ${formatCount(errors)} with an error, ${formatCount(inputTokens)} tokens in, ${formatCount(outputTokens)} out, ${formatCost(cost)}`;
  return `${own}\nWith all below: ${all}`;
}
