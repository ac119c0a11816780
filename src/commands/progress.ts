import { SingleBar } from "cli-progress";

/** The progress of a long command. */
export interface Progress {
  /** Reports how much of the total is done, and how many rows that is. */
  report(done: number, rows: number): void;
  stop(): void;
}

const LINE_EVERY_MS = 10_000;

/** Shows progress on the standard error: as a bar on a terminal, else as a line every ten seconds. */
export function showProgress(total: number): Progress {
  return process.stderr.isTTY ? bar(total) : lines(total);
}

function bar(total: number): Progress {
  const progressBar = new SingleBar({
    format: "{bar} {percentage} % | {rows} rows | {eta_formatted} left",
    hideCursor: true,
    clearOnComplete: true,
    etaBuffer: 50,
  });
  progressBar.start(total, 0, { rows: "0" });
  return {
    report: (done, rows) => progressBar.update(Math.min(done, total), { rows: rows.toLocaleString("en") }),
    stop: () => progressBar.stop(),
  };
}

function lines(total: number): Progress {
  let next = Date.now() + LINE_EVERY_MS;
  return {
    report: (done, rows) => {
      if (Date.now() < next) return;
      next = Date.now() + LINE_EVERY_MS;
      const percentage = Math.min(100, Math.floor((done / Math.max(total, 1)) * 100));
      process.stderr.write(`${percentage} %, ${rows.toLocaleString("en")} rows\n`);
    },
    stop: () => {},
  };
}
