export type Random = ReturnType<typeof createRandom>;

/** Numbers that are the same in every run: Mulberry32 by Tommy Ettinger (public domain). */
export function createRandom(seed: number) {
  let state = seed;
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number) => Math.floor(random() * end);
  return { random, below, oneOf: <Value>(values: readonly Value[]): Value => values[below(values.length)]! };
}
