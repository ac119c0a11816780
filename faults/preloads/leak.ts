import { Server } from "node:http";

// For a control that must fail: something is kept of every request.
const kept: number[][] = [];
const { emit } = Server.prototype;
Server.prototype.emit = function (this: Server, ...given: unknown[]) {
  if (given[0] === "request") kept.push(Array.from({ length: 250 }, Math.random));
  return (emit as (...given: unknown[]) => boolean).apply(this, given);
} as typeof emit;
