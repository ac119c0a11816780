/** A logged call, with how many characters two versions make of its variables. */
export interface EstimatedCall {
  model: string | null;
  inputTokens: number | null;
  outputTokens: number | null;
  cost: number | null;
  charactersBefore: number;
  charactersAfter: number;
}

export interface Estimate {
  /** How many more tokens a call would take. */
  tokens: number;
  /** How many more US dollars; null when the costs of the calls do not say what a token of input costs. */
  cost: number | null;
}

/** The worst error with which prices may explain the costs of calls. */
const MAX_ERROR = 0.02;

/**
 * What another version would change on average. Tokens of input grow as the characters do, and outputs stay as long. Null
 * when no call has its tokens.
 */
export function estimateChange(calls: EstimatedCall[]): Estimate | null {
  const models = new Map<string | null, number | null>();
  const counted = calls.filter(
    ({ inputTokens, charactersBefore }) => inputTokens !== null && charactersBefore > 0,
  );
  if (counted.length === 0) return null;
  let tokens = 0;
  let cost: number | null = 0;
  for (const { model, inputTokens, charactersBefore, charactersAfter } of counted) {
    const more = inputTokens! * (charactersAfter / charactersBefore - 1);
    if (!models.has(model)) models.set(model, inputPriceOf(calls.filter((call) => call.model === model)));
    const price = models.get(model);
    tokens += more;
    cost = cost === null || price == null ? null : cost + more * price;
  }
  return { tokens: tokens / counted.length, cost: cost === null ? null : cost / counted.length };
}

/** The price of a token of input that, with one of output, gives the costs of the calls: by least squares. */
function inputPriceOf(calls: EstimatedCall[]): number | null {
  const priced = calls.flatMap(({ inputTokens, outputTokens, cost }) =>
    inputTokens === null || outputTokens === null || cost === null
      ? []
      : [{ input: inputTokens, output: outputTokens, cost }],
  );
  const sum = (of: (call: (typeof priced)[number]) => number) =>
    priced.reduce((total, call) => total + of(call), 0);
  const [ii, oo, io] = [
    sum(({ input }) => input * input),
    sum(({ output }) => output * output),
    sum(({ input, output }) => input * output),
  ];
  const [ic, oc] = [sum(({ input, cost }) => input * cost), sum(({ output, cost }) => output * cost)];
  const determinant = ii * oo - io * io;
  // Calls that are all alike, but for their size, do not separate the two prices.
  if (determinant <= 1e-6 * ii * oo) return null;
  const inputPrice = (oo * ic - io * oc) / determinant;
  const outputPrice = (ii * oc - io * ic) / determinant;
  const isGood = priced.every(
    ({ input, output, cost }) =>
      Math.abs(input * inputPrice + output * outputPrice - cost) <= MAX_ERROR * cost,
  );
  return isGood && inputPrice >= 0 ? inputPrice : null;
}
