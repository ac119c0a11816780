import { hash } from "node:crypto";
import type { Value } from "../tables.ts";

const BITS = 256;

/**
 * The checksum of the rows of a table: the sum of the SHA-256 hashes of each row's values, modulo 2 to the 256. Tables with
 * the same rows have the same checksum in any database and in any order.
 */
export function createChecksum() {
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
