import type pg from "pg";

interface CopyConnection {
  query(statement: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** Sends lines to `COPY … FROM STDIN`, in the text format; the driver has only the messages for it. */
export function copyIn(client: pg.Client, statement: string, lines: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const nothing = () => {};
    const query = {
      submit: (connection: CopyConnection) => connection.query(statement),
      handleCopyInResponse: (connection: CopyConnection) => {
        connection.sendCopyFromChunk(Buffer.from(lines));
        connection.endCopyFrom();
      },
      handleError: reject,
      handleReadyForQuery: () => resolve(),
      handleCommandComplete: nothing,
      handleRowDescription: nothing,
      handleDataRow: nothing,
    };
    client.query(query as unknown as pg.Query);
  });
}

/** A line of the text format; texts must hold no tab, no line break and no backslash. */
export function lineOf(values: (string | number | null)[]): string {
  let line = "";
  for (const value of values) line += value === null ? "\\N\t" : `${value}\t`;
  return `${line.slice(0, -1)}\n`;
}
