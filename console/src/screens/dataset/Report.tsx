import { Button } from "../../parts/Button.tsx";
import { formatCount, formatRows } from "../../parts/format.ts";
import notice from "../../parts/Notice.module.css";

/** What became of many rows. */
export interface Report {
  changed: number;
  added: number;
  /** Those of a file, where a key may have changed a row instead of adding one. */
  stored: number;
  /** The rows that were refused, by their numbers from 1, with the reasons. */
  refused: { row: number; message: string }[];
  /** Why nothing, or not everything, was tried. */
  problem: string | null;
}

const MAX_SHOWN = 20;

/** What became of many rows, row by row for those that were refused. */
export function ReportNotice({ report, onClose }: { report: Report; onClose: () => void }) {
  const { changed, added, stored, refused, problem } = report;
  const isBad = problem !== null || refused.length > 0;
  const counts = [
    changed > 0 && `${formatRows(changed)} changed`,
    added > 0 && `${formatRows(added)} added`,
    stored > 0 && `${formatRows(stored)} stored`,
    refused.length > 0 && `${formatRows(refused.length)} refused`,
  ].filter(Boolean);
  return (
    <div className={isBad ? `${notice.notice} ${notice.bad}` : notice.notice} role="status">
      <div className={notice.words}>
        {problem} {counts.length > 0 ? `${counts.join(", ")}.` : problem === null && "Nothing differs."}
        {refused.length > 0 && (
          <ul>
            {refused.slice(0, MAX_SHOWN).map(({ row, message }) => (
              <li key={row}>
                Row {formatCount(row)}: {message}
              </li>
            ))}
            {refused.length > MAX_SHOWN && <li>and {formatCount(refused.length - MAX_SHOWN)} more</li>}
          </ul>
        )}
      </div>
      <Button onClick={onClose}>Close the report</Button>
    </div>
  );
}
