export const INEXACT = "is a whole number too large to be kept exactly; send it as a text";

const WHOLE_NUMBER = /^(-?\d+)(?:\.0*)?$/;

/** Whether a text is a whole number that JavaScript may not read exactly. */
export function isLargeWhole(source: string): boolean {
  const whole = WHOLE_NUMBER.exec(source)?.[1];
  return whole !== undefined && !Number.isSafeInteger(Number(whole));
}

/**
 * Whether JavaScript would read and write a whole number as another one. Fractions and exponents are approximate by their
 * nature.
 */
export function isInexact(source: string): boolean {
  const whole = WHOLE_NUMBER.exec(source)?.[1];
  if (whole === undefined) return false;
  const read = Number(whole);
  if (Number.isSafeInteger(read)) return false;
  return !Number.isFinite(read) || (BigInt(whole) !== BigInt(read) && String(read) !== whole);
}
