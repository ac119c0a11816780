import { createReadStream } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";

/** Longer rows are errors of a file, such as a quotation mark that is never closed. */
export const MAX_ROW_CHARACTERS = 16 * 1024 * 1024;

/** An error that ends the reading of a file; it names the file and the line. */
export class FileError extends Error {
  readonly line: number;
  /** The message without its place. */
  readonly reason: string;

  constructor(file: string, line: number, message: string) {
    super(`${file}, line ${line}: ${message}`);
    this.line = line;
    this.reason = message;
  }
}

/** A file to read; `onRead` is called with the length of each piece in bytes. */
export interface Input {
  path: string;
  onRead: (bytes: number) => void;
}

const NOT_UTF8 = 'is not UTF-8. Save the file as UTF-8 (in a spreadsheet: "CSV UTF-8").';

/**
 * The text of a file piece by piece, unpacked where its name ends with `.gz`, without a byte order mark. Text that is not UTF-8
 * is an error and never changed.
 */
export async function* piecesOf(input: Input): AsyncGenerator<string> {
  const { path } = input;
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let line = 1;
  const decode = (piece?: Buffer) => {
    try {
      return piece ? decoder.decode(piece, { stream: true }) : decoder.decode();
    } catch {
      throw new FileError(path, line, `this line, or one of the next hundreds, ${NOT_UTF8}`);
    }
  };
  try {
    for await (const piece of bytesOf(input)) {
      yield decode(piece);
      line += countOf(piece, "\n");
    }
  } catch (error) {
    if (error instanceof FileError) throw error;
    const { message } = error as Error;
    throw new FileError(path, line, `the file cannot be read from about this line on: ${message}.`);
  }
  yield decode();
}

function bytesOf(input: Input): AsyncIterable<Buffer> {
  const stored = storedBytesOf(input);
  if (!input.path.endsWith(".gz")) return stored;
  return pipeline(stored, createGunzip(), () => {}); // the error comes by the iteration as well
}

async function* storedBytesOf({ path, onRead }: Input): AsyncGenerator<Buffer> {
  for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) {
    onRead(piece.length);
    yield piece;
  }
}

function countOf(piece: Buffer, sign: string): number {
  const code = sign.charCodeAt(0);
  let count = 0;
  for (let at = piece.indexOf(code); at >= 0; at = piece.indexOf(code, at + 1)) count++;
  return count;
}
