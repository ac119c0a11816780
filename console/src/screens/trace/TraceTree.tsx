import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { Button } from "../../parts/Button.tsx";
import { FilterBar, SearchField } from "../../parts/Field.tsx";
import { formatCount } from "../../parts/format.ts";
import { Empty } from "../../parts/Notice.tsx";
import { useQuickPart } from "../../parts/useQuickPart.ts";
import { hasBelow, matchesOf, nextError, outlineOf, shownSteps, withAbove } from "./outline.ts";
import type { Step } from "./queries.ts";
import { StepDetailPanel } from "./StepDetailPanel.tsx";
import styles from "./Trace.module.css";
import { useCollapsed } from "./useCollapsed.ts";
import { useTraceKeys } from "./useTraceKeys.ts";
import { Waterfall } from "./Waterfall.tsx";

const route = getRouteApi("/shell/traces/$id");

interface Props {
  traceId: string;
  steps: readonly Step[];
  isWhole: boolean;
  hasTexts: boolean;
}

/** The steps of a trace, what is selected among them, and its detail. */
export function TraceTree({ traceId, steps, isWhole, hasTexts }: Props) {
  const { q, step } = route.useSearch();
  const navigate = route.useNavigate();
  const [selectedId, select] = useQuickPart(
    step,
    (next) => void navigate({ search: (now) => ({ ...now, step: next }), replace: true, resetScroll: false }),
  );
  const outline = useMemo(() => outlineOf(steps), [steps]);
  const [collapsed, setCollapsed] = useCollapsed(outline);
  const matches = useMemo(() => (q ? matchesOf(outline, q) : undefined), [outline, q]);
  const found = useMemo(() => matches && new Set(matches), [matches]);
  const shown = useMemo(
    () => (matches ? withAbove(outline, matches) : shownSteps(outline, collapsed)),
    [outline, matches, collapsed],
  );
  const selected = selectedId === undefined ? undefined : outline.indexOf.get(selectedId);
  const collapse = (n: number, isCollapsed: boolean) => {
    const next = new Set(collapsed);
    if (isCollapsed) next.add(steps[n]!.id);
    else next.delete(steps[n]!.id);
    setCollapsed(next);
  };
  const onSelect = (n: number) => {
    const next = withoutAbove(steps, collapsed, n);
    if (next !== collapsed) setCollapsed(next);
    select(steps[n]!.id);
  };
  const moves = { outline, shown, selected, collapsed, onSelect, onCollapse: collapse };
  useTraceKeys(moves);
  const onSearch = useCallback(
    (text: string) =>
      void navigate({
        search: (now) => ({ ...now, q: text || undefined }),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
  const collapseAll = () =>
    setCollapsed(new Set(steps.flatMap(({ id }, n) => (hasBelow(outline, n) ? [id] : []))));
  const toNextError = () => onSelect(nextError(outline, selected ?? -1)!);
  if (steps.length === 0) return isWhole ? <Empty title="The trace has no steps" /> : null;
  return (
    <div className={styles.columns}>
      <div className={styles.tree}>
        <FilterBar>
          <SearchField label="Search steps" value={q ?? ""} onSearch={onSearch} />
          {outline.errorCount > 0 && (
            <Button icon="alert" title="The key e" onClick={toNextError}>
              Next error ({formatCount(outline.errorCount)})
            </Button>
          )}
          <Button onClick={collapseAll} disabled={matches !== undefined}>
            Collapse all
          </Button>
          <Button onClick={() => setCollapsed(new Set())} disabled={matches !== undefined}>
            Expand all
          </Button>
        </FilterBar>
        {matches && (
          <p role="status" className={styles.found}>
            {formatCount(matches.length)} of {formatCount(steps.length)} steps have “{q}”
            {hasTexts ? "." : "; inputs and outputs are still being read."}
          </p>
        )}
        {shown.length > 0 && <Waterfall {...moves} found={found} scrollId={`steps of ${traceId}`} />}
      </div>
      {selectedId === undefined ? (
        <Hint />
      ) : (
        <StepDetailPanel id={selectedId} isKnown={selected !== undefined || !isWhole} />
      )}
    </div>
  );
}

function Hint() {
  return (
    <section className={styles.detail} aria-label="Step">
      <p className={styles.found}>
        Select a step to see its input and output. Keys: <kbd>j</kbd> and <kbd>k</kbd> move, <kbd>Left</kbd>{" "}
        and <kbd>Right</kbd> collapse and expand, <kbd>e</kbd> goes to the next error.
      </p>
    </section>
  );
}

/** A step that is selected shows, so nothing above it stays collapsed. */
function withoutAbove(
  steps: readonly Step[],
  collapsed: ReadonlySet<string>,
  n: number,
): ReadonlySet<string> {
  const next = new Set(collapsed);
  let { depth } = steps[n]!;
  for (let at = n - 1; at >= 0 && depth > 0; at -= 1) {
    const step = steps[at]!;
    if (step.depth >= depth) continue;
    depth = step.depth;
    next.delete(step.id);
  }
  return next.size === collapsed.size ? collapsed : next;
}
