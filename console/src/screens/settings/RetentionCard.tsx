import { useData } from "../../data.ts";
import type { RetentionStateQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { type Fact, Facts } from "../../parts/Facts.tsx";
import { formatCount } from "../../parts/format.ts";
import { Loaded } from "../../parts/Loaded.tsx";
import { Card } from "../../parts/Page.tsx";
import { Time } from "../../parts/Time.tsx";
import { Prune } from "./Prune.tsx";
import styles from "./Settings.module.css";

const RetentionState = graphql(`
  query RetentionState {
    retention {
      days
      before
      traces
      oldestStartTime
      run {
        before
        removed
        startedAt
      }
      lastRun {
        before
        removed
        endedAt
        token
      }
    }
  }
`);

/** How long traces are kept, and removing older ones by hand. */
export function RetentionCard() {
  const result = useData(RetentionState, {});
  return (
    <Card title="Retention">
      <Loaded result={result}>
        {({ retention }) => (
          <div className={styles.parts}>
            <Facts facts={factsOf(retention)} />
            {retention.days == null && (
              <p>
                Set <code>GABBRO_RETENTION</code>, such as to <code>90</code>, so that the service removes old
                traces by itself.
              </p>
            )}
            <Prune onPruned={result.retry} />
          </div>
        )}
      </Loaded>
    </Card>
  );
}

function factsOf(retention: RetentionStateQuery["retention"]): Fact[] {
  const { days, before, traces, oldestStartTime, run, lastRun } = retention;
  return [
    { name: "Traces are kept", value: days == null ? "for ever" : `${formatCount(days)} days` },
    { name: "Oldest trace", value: oldestStartTime ? <Time at={oldestStartTime} as="clock" /> : "none" },
    before && {
      name: "To be removed now",
      value: (
        <>
          {formatCount(traces)}, from before <Time at={before} as="clock" />
        </>
      ),
    },
    run && {
      name: "Under way",
      value: (
        <>
          {formatCount(run.removed)} removed since <Time at={run.startedAt} as="clock" />
        </>
      ),
    },
    {
      name: "Last removal",
      value: lastRun ? (
        <>
          {formatCount(lastRun.removed)} traces by {lastRun.token}, <Time at={lastRun.endedAt} as="clock" />
        </>
      ) : (
        "none"
      ),
    },
  ].filter((fact) => fact != null && fact !== "");
}
