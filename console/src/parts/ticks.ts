const TOPS = [1, 1.2, 1.6, 2, 3, 4, 6, 8, 10];

/** The lines of a chart: nothing, the next round number above all values, and half of it where whole numbers have such a half. */
export function ticksOf(values: number[]): number[] {
  const most = Math.max(0, ...values);
  if (most === 0) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(most));
  const factor = TOPS.find((one) => one * power >= most) ?? 10;
  const top = Number((factor * power).toPrecision(2));
  return values.every(Number.isInteger) && top % 2 === 1 ? [0, top] : [0, top / 2, top];
}
