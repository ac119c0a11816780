import { createRandom as createBase } from "../../src/sample/random.ts";

/** The same numbers in every run: what failed once fails again. */
export function createRandom(seed: number) {
  const base = createBase(seed);
  return {
    ...base,
    maybe: <Value>(share: number, make: () => Value) => (base.random() < share ? make() : null),
    some: <Value>(count: number, make: () => Value) => Array.from({ length: count }, make),
  };
}

export type Random = ReturnType<typeof createRandom>;
