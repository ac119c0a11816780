import { hash } from "node:crypto";
import type { Value } from "../tables.ts";

const BITS = 256;

/**
 * Sums up the rows of a table, so that two tables with the same rows have the same sum whichever databases they are in
 * and in whatever order they come: it adds up the SHA-256 of each row's values, modulo 2 to the 256.
 */
export function createFingerprint() {
  let sum = 0n;
  let count = 0;
  return {
    add: (rows: Value[][]): void => {
      for (const row of rows) sum += BigInt(`0x${hash("sha256", JSON.stringify(row), "hex")}`);
      sum = BigInt.asUintN(BITS, sum);
      count += rows.length;
    },
    count: () => count,
    sum: () => sum,
  };
}
