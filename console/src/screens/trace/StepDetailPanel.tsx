import { getRouteApi, Link } from "@tanstack/react-router";
import { useData } from "../../data.ts";
import { Button, buttonClass } from "../../parts/Button.tsx";
import { Facts } from "../../parts/Facts.tsx";
import { formatExactTime } from "../../parts/format.ts";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty } from "../../parts/Notice.tsx";
import { useSettled } from "../../parts/useSettled.ts";
import { Value } from "../../parts/Value.tsx";
import { AddToDataset } from "../log/AddToDataset.tsx";
import { StepDetail, type StepDetails } from "./queries.ts";
import { StepFacts } from "./StepFacts.tsx";
import styles from "./Trace.module.css";

const route = getRouteApi("/shell/traces/$id");

/** What is known of the selected step. It is read once the selection rests. */
export function StepDetailPanel({ id, isKnown }: { id: string; isKnown: boolean }) {
  const settled = useSettled(id);
  const result = useData(StepDetail, { id: settled });
  return (
    <section className={styles.detail} aria-label="Step" aria-busy={settled !== id}>
      {isKnown ? (
        <Loaded result={result}>{({ log }) => log && <Detail key={log.id} step={log} />}</Loaded>
      ) : (
        <Empty title="The trace has no such step" />
      )}
    </section>
  );
}

function Detail({ step }: { step: StepDetails }) {
  const { dialog } = route.useSearch();
  const navigate = route.useNavigate();
  const setDialog = (next: string | undefined) =>
    void navigate({ search: (now) => ({ ...now, dialog: next }), replace: true, resetScroll: false });
  const { id, name, statusMessage, input, output, idealOutput, variables, metadata, attributes } = step;
  return (
    <>
      <div className={styles.detailHead}>
        <h2>{name}</h2>
        <Link to="/logs/$id" params={{ id }} className={buttonClass()}>
          Open log
        </Link>
        <Button icon="datasets" onClick={() => setDialog("dataset")}>
          Add to dataset…
        </Button>
      </div>
      {statusMessage && <Value title="Error" value={statusMessage} />}
      <StepFacts step={step} />
      <Value title="Input" value={input} />
      <Value title="Output" value={output} />
      {idealOutput != null && <Value title="Ideal output" value={idealOutput} />}
      {variables && variables.length > 0 && (
        <Facts facts={variables.map(({ label, value }) => ({ name: label, value: value ?? "–" }))} />
      )}
      <Events events={step.events ?? []} />
      {metadata && <Value title="Metadata" value={metadata} />}
      {attributes && <Value title="Attributes" value={attributes} />}
      {dialog === "dataset" && <AddToDataset logId={id} onClose={() => setDialog(undefined)} />}
    </>
  );
}

function Events({ events }: { events: NonNullable<StepDetails["events"]> }) {
  if (events.length === 0) return null;
  return (
    <div className={styles.events}>
      {events.map(({ name, time, attributes }, n) => (
        <Value
          // biome-ignore lint/suspicious/noArrayIndexKey: the events of a stored step have no other identity
          key={n}
          title={`Event ${name}`}
          value={time ? { at: formatExactTime(time), ...attributes } : attributes}
        />
      ))}
    </div>
  );
}
