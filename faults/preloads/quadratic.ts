import { IncomingMessage } from "node:http";

// For a control that must fail: an expression that looks at the rest of a body again from each of its characters.
const MAX_CHARACTERS = 40_000; // it ends within seconds
const QUADRATIC = /[^@]+@[^@]*$/;
const read = new WeakMap<IncomingMessage, string[]>();
const { push } = IncomingMessage.prototype;
IncomingMessage.prototype.push = function (chunk, encoding) {
  const chunks = read.get(this) ?? [];
  read.set(this, chunks);
  if (chunk) chunks.push(String(chunk));
  else QUADRATIC.test(chunks.join("").slice(0, MAX_CHARACTERS));
  return push.call(this, chunk, encoding);
};
