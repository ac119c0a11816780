import { SingleBar } from "cli-progress";

/** How far a long command is. */
export interface Progress {
  /** Tells how much of the whole is done, and of how many rows that is. */
  tell(done: number, rows: number): void;
  stop(): void;
}

const LINE_EVERY_MS = 10_000;

/** Shows how far a command is on the standard error: as a bar on a terminal, else as a line every ten seconds. */
export function showProgress(total: number): Progress {
  return process.stderr.isTTY ? bar(total) : lines(total);
}

function bar(total: number): Progress {
  const shown = new SingleBar({
    format: "{bar} {percentage} % | {rows} rows | {eta_formatted} left",
    hideCursor: true,
    clearOnComplete: true,
    etaBuffer: 50,
  });
  shown.start(total, 0, { rows: "0" });
  return {
    tell: (done, rows) => shown.update(Math.min(done, total), { rows: rows.toLocaleString("en") }),
    stop: () => shown.stop(),
  };
}

function lines(total: number): Progress {
  let next = Date.now() + LINE_EVERY_MS;
  return {
    tell: (done, rows) => {
      if (Date.now() < next) return;
      next = Date.now() + LINE_EVERY_MS;
      const percentage = Math.min(100, Math.floor((done / Math.max(total, 1)) * 100));
      process.stderr.write(`${percentage} %, ${rows.toLocaleString("en")} rows\n`);
    },
    stop: () => {},
  };
}
