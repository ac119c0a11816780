import { PassThrough, type Writable } from "node:stream";
import grpc from "@grpc/grpc-js";
import type { FastifyBaseLogger } from "fastify";
import type { Context } from "../../context.ts";
import type { GabbroError } from "../../errors.ts";
import { timedOut } from "../../limits/deadline.ts";
import { createFairQueue } from "../../limits/fairQueue.ts";
import { onceDone } from "../../limits/handlerWork.ts";
import { authenticated } from "../../workspaces/resolvers.ts";
import { toGrpcError } from "./grpcErrors.ts";
import type { OtlpOptions } from "./options.ts";

/** What the interceptor leaves for the method. */
export interface Admitted {
  context: Context;
  /** Stands for the stream of the answer. */
  answer: Writable;
}

/** Keeps a connection from being closed as idle, until the function that is returned is called. */
export type HoldConnection = () => () => void;

/** For sending a whole request, and then for the work on it. */
const RECEIVE_MS = 30_000;
const WORK_MS = 10_000;

/** As long as unpacking a message may take. */
const UNPACKING_MS = 5_000;
/** grpc-js reports a message when it is complete: 16 calls hold 1 GB at most while they arrive, and up to twice that once joined. */
const ARRIVING = {
  places: 16,
  share: 8,
  maxWaiting: 500,
  maxWaitMs: 10_000,
  busy: "Too many requests are arriving at once; try again in a moment.",
};

/** Authenticates each call before its message is read, and counts it with the requests that come by HTTP. */
export function createAdmission({ contextOf, limiter }: OtlpOptions, log: FastifyBaseLogger) {
  const arriving = createFairQueue(ARRIVING);
  const admitted = new WeakMap<grpc.Metadata, Admitted>();

  const admit = async (metadata: grpc.Metadata, call: Call, hold: HoldConnection): Promise<void> => {
    const deadline = { atMs: performance.now() + RECEIVE_MS };
    const headers = { authorization: metadata.get("authorization")[0]?.toString() };
    const context = await contextOf({ headers, deadline }, { raw: call.answer });
    const { workspaceId } = authenticated(context);
    const share = limiter.enterCall(workspaceId);
    if (!share) throw limiter.overloaded();
    call.onEnd(hold());
    onceDone(call.answer, () => share.giveBack(1));
    const hasArrived = holdUntilArrived(call, await arriving.acquire(workspaceId));
    call.startTimer(RECEIVE_MS);
    const held = limiter.holdBytes(workspaceId);
    onceDone(call.answer, held.release);
    call.onMessage = async (message) => {
      hasArrived();
      if (!held.take(message.length)) throw limiter.overloaded();
      await held.waitForOthers(message.length);
      deadline.atMs = performance.now() + WORK_MS;
      call.startTimer(WORK_MS);
    };
    admitted.set(metadata, { context, answer: call.answer });
  };

  return {
    /** What a call was admitted with. */
    admitted: (metadata: grpc.Metadata): Admitted => admitted.get(metadata)!,
    interceptorOf:
      (hold: HoldConnection): grpc.ServerInterceptor =>
      (method, next) => {
        const end = (error: unknown) => {
          const status = toGrpcError(error, log);
          call.code = status.code;
          next.sendStatus(status);
        };
        const call = newCall(end);
        const beganMs = performance.now();
        call.onEnd(() => {
          const latencyMs = Math.round((performance.now() - beganMs) * 100) / 100;
          log.info({ method: "gRPC", route: method.path, code: call.code, latencyMs }, "answered");
        });
        return new grpc.ServerInterceptingCall(next, {
          sendStatus: (status, pass) => {
            call.code = status.code ?? call.code;
            pass(status);
          },
          start: (start) =>
            start({
              onReceiveMetadata: (metadata, pass) =>
                void admit(metadata, call, hold).then(() => pass(metadata), end),
              onReceiveMessage: (message: Buffer, pass) =>
                void call.onMessage(message).then(() => pass(message), end),
              onReceiveHalfClose: (pass) => pass(),
              onCancel: () => call.end(), // grpc-js calls it at every end
            }),
        });
      },
  };
}

/**
 * Holds a place until the function that is returned says that the message is there. grpc-js unpacks it to its end when the call
 * ends before, so the call then keeps its place for longer: 120 that were cancelled after 60 ms, each with 65 kB that unpack to
 * 64 MB, took 2.8 GB.
 */
function holdUntilArrived(call: Call, release: () => void): () => void {
  let isArriving = true;
  call.onEnd(() => {
    if (isArriving) setTimeout(release, UNPACKING_MS).unref();
  });
  return () => {
    isArriving = false;
    release();
  };
}

type Call = ReturnType<typeof newCall>;

/** A call from its first byte to its end. */
function newCall(fail: (error: GabbroError) => void) {
  const ends: (() => void)[] = [];
  let hasEnded = false;
  let timer: NodeJS.Timeout | undefined;
  return {
    /** Stands for the stream of the answer: what is held for the call is released once it is closed and its work has ended. */
    answer: new PassThrough(),
    /** The status that was sent; that of a call that its client ended, or grpc-js, before one is. */
    code: grpc.status.CANCELLED as number,
    onMessage: async (_: Buffer): Promise<void> => {},
    /** Runs at the end of the call; at once when it has ended. */
    onEnd: (release: () => void): void => {
      if (hasEnded) release();
      else ends.push(release);
    },
    startTimer: (ms: number): void => {
      clearTimeout(timer);
      if (!hasEnded) timer = setTimeout(() => fail(timedOut()), ms);
    },
    end(): void {
      hasEnded = true;
      clearTimeout(timer);
      this.answer.destroy();
      for (const release of ends.splice(0)) release();
    },
  };
}
