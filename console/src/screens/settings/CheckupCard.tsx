import { useData } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { formatCount } from "../../parts/format.ts";
import { Loaded } from "../../parts/Loaded.tsx";
import { Card } from "../../parts/Page.tsx";
import { Time } from "../../parts/Time.tsx";
import styles from "./Settings.module.css";

const WorkspaceCheckup = graphql(`
  query WorkspaceCheckup {
    checkup {
      findings {
        problem
        advice
      }
      findingCount
      newestStartTime
    }
  }
`);

/** What needs attention and what to do about it, in the sentences of `gabbro doctor`. */
export function CheckupCard() {
  const result = useData(WorkspaceCheckup, {});
  return (
    <Card title="What needs attention">
      <Loaded result={result}>
        {({ checkup: { findings, findingCount, newestStartTime } }) => (
          <div className={styles.parts}>
            {findings.length === 0 ? (
              <p>There is nothing to do.</p>
            ) : (
              <ul className={styles.findings}>
                {findings.map(({ problem, advice }, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: two tokens may have one name and one end
                  <li key={index}>
                    <div>{problem}</div>
                    <div className={styles.advice}>{advice}</div>
                  </li>
                ))}
              </ul>
            )}
            {findingCount > findings.length && <p>and {formatCount(findingCount - findings.length)} more.</p>}
            <p className={styles.advice}>
              {newestStartTime ? (
                <>
                  The newest trace began <Time at={newestStartTime} as="clock" />.
                </>
              ) : (
                "No trace has arrived yet."
              )}
            </p>
          </div>
        )}
      </Loaded>
    </Card>
  );
}
