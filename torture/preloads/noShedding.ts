import { Server } from "node:http";

// For a control that must fail: who looks at the clock while a request arrives is told that no time has passed, so each is
// begun at once, however many there are.
const { now } = performance;
let isAsking = false;
performance.now = () => (isAsking ? 0 : now.call(performance));
const { emit } = Server.prototype;
Server.prototype.emit = function (this: Server, ...given: Parameters<typeof emit>) {
  isAsking = given[0] === "request";
  try {
    return emit.apply(this, given);
  } finally {
    isAsking = false;
  }
} as typeof emit;
