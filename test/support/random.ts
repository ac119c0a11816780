/** The same numbers in every run: what failed once fails again. */
export function createRandom(seed: number) {
  let state = seed;
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number) => Math.floor(random() * end);
  return {
    random,
    below,
    oneOf: <Value>(values: readonly Value[]): Value => values[below(values.length)]!,
    maybe: <Value>(share: number, make: () => Value) => (random() < share ? make() : null),
    some: <Value>(count: number, make: () => Value) => Array.from({ length: count }, make),
  };
}

export type Random = ReturnType<typeof createRandom>;
