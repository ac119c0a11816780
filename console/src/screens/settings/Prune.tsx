import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useSave } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Button } from "../../parts/Button.tsx";
import { Confirm } from "../../parts/Confirm.tsx";
import { TextField } from "../../parts/Field.tsx";
import { formatCount, formatDay, isDay } from "../../parts/format.ts";
import { ErrorNotice } from "../../parts/Notice.tsx";
import { useToast } from "../../parts/Toast.tsx";
import styles from "./Settings.module.css";

const route = getRouteApi("/shell/settings");

const PruneTraces = graphql(`
  mutation PruneTraces($before: DateTime!, $dryRun: Boolean!) {
    pruneTraces(input: { before: $before, dryRun: $dryRun }) {
      traces
      warnings {
        message
      }
    }
  }
`);

/** Removes the traces from before a day, once they are counted and the reader agrees. */
export function Prune({ onPruned }: { onPruned: () => void }) {
  const { before = "" } = route.useSearch();
  const day = isDay(before) ? before : "";
  const navigate = route.useNavigate();
  const { run, error, isRunning } = useSave(PruneTraces);
  const [counted, setCounted] = useState<{ day: string; traces: number } | null>(null);
  const [isAsking, setIsAsking] = useState(false);
  const toast = useToast();
  const found = counted?.day === day ? counted : null;
  const variables = (dryRun: boolean) => ({ before: new Date(`${day}T00:00:00`).toISOString(), dryRun });
  const count = async () => {
    const data = await run(variables(true));
    if (data) setCounted({ day, traces: data.pruneTraces.traces });
  };
  const remove = async () => {
    const data = await run(variables(false));
    if (!data) return;
    toast(`${tracesText(data.pruneTraces.traces)} removed`);
    setIsAsking(false);
    setCounted(null);
    onPruned();
  };
  return (
    <>
      <div className={styles.prune}>
        <TextField
          label="Remove traces from before"
          type="date"
          value={day}
          onChange={({ target: { value } }) =>
            void navigate({ search: (now) => ({ ...now, before: value || undefined }), replace: true })
          }
        />
        <Button disabled={!day || isRunning} onClick={() => void count()}>
          Count them
        </Button>
        {found && found.traces > 0 && (
          <Button kind="danger" disabled={isRunning} onClick={() => setIsAsking(true)}>
            Remove {tracesText(found.traces)}…
          </Button>
        )}
        {found?.traces === 0 && <p role="status">No trace began before {formatDay(day)}.</p>}
      </div>
      {error && !isAsking && <ErrorNotice error={error} />}
      {isAsking && found && (
        <Confirm
          title={`Remove ${tracesText(found.traces)}`}
          verb="Remove"
          error={error}
          isRunning={isRunning}
          onConfirm={() => void remove()}
          onClose={() => setIsAsking(false)}
        >
          Everything from before {formatDay(day)} goes, with its logs, their inputs and outputs. It cannot be
          brought back.
        </Confirm>
      )}
    </>
  );
}

const tracesText = (count: number): string => (count === 1 ? "1 trace" : `${formatCount(count)} traces`);
