import { readdir, readFile } from "node:fs/promises";
import type { OtlpSpan } from "../../src/logs/otlp/span.ts";

const folder = new URL("./otlp/", import.meta.url);

/** Spans of one sender, decoded. */
export interface OtlpFixture {
  /** The file's name without its ending. */
  name: string;
  source: string;
  /** The version is null where the spans were not recorded. */
  library: { name: string; version: string | null };
  /** Whether the library itself made the spans, against a stub of a model's API; `reason` says why it did not. */
  recorded: boolean;
  reason?: string;
  /** What the stub answered that it used: the sum over all calls of models. */
  usage: { inputTokens: number; outputTokens: number };
  /** How many spans report each call of a model, where it is not one: two libraries may watch the same call. */
  reportedTimes?: number;
  /** Whether the stub gave several answers one id, where a model's API gives each its own. */
  answersShareId?: boolean;
  spans: OtlpSpan[];
}

/** All fixtures, by name. */
export async function readOtlpFixtures(): Promise<OtlpFixture[]> {
  const files = (await readdir(folder)).filter((file) => /^[^.]+\.json$/.test(file)).toSorted();
  return Promise.all(
    files.map(async (file) => toFixture(file, await readFile(new URL(file, folder), "utf8"))),
  );
}

/** Where the result of a fixture's mapping stands. */
export const expectedOf = ({ name }: OtlpFixture): string => `../support/otlp/${name}.expected.json`;

/** A span of a sender that says nothing but what is given. */
export function toOtlpSpan(given: Partial<OtlpSpan>): OtlpSpan {
  return {
    traceId: "0af7651916cd43dd8448eb211c80319c",
    spanId: "b7ad6b7169203331",
    parentSpanId: null,
    hasRemoteParent: false,
    name: "step",
    kind: "internal",
    startTime: new Date("2026-11-24T20:00:00.000Z"),
    endTime: new Date("2026-11-24T20:00:01.000Z"),
    startNanos: "1795636800000000000",
    endNanos: "1795636801000000000",
    attributes: {},
    events: [],
    links: [],
    status: null,
    statusMessage: null,
    traceState: null,
    resource: {},
    scope: { name: null, version: null, attributes: {} },
    ...given,
  };
}

/** A fixture that is written by hand gives of each span only what matters. */
function toFixture(file: string, text: string): OtlpFixture {
  const { spans, ...fixture } = JSON.parse(text) as Omit<OtlpFixture, "name">;
  const dated = spans.map(({ startTime, endTime, ...span }) =>
    toOtlpSpan({
      ...span,
      ...(startTime && { startTime: new Date(startTime) }),
      ...(endTime && { endTime: new Date(endTime) }),
    }),
  );
  return { name: file.replace(".json", ""), ...fixture, spans: dated };
}
