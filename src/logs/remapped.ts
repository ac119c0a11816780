import { isDeepStrictEqual } from "node:util";
import { tokenParts } from "../usage/tokenParts.ts";
import { rounded } from "../usage/usage.ts";
import type { AggregateUsage, Log, Trace } from "./entities.ts";
import type { ReportedSpan } from "./reported.ts";
import type { Step } from "./steps.resolvers.ts";

/** What the mapping decides of a log, beside its usage. */
const mappedColumns = [
  ...["type", "name", "status", "statusMessage", "input", "output", "variables", "metadata", "evaluators"],
  ...["promptSlug", "version", "tag", "provider", "model", "userId", "organizationId", "responseId"],
  "timeToFirstTokenMs",
] as const;

export const comparedColumns = [
  ...mappedColumns,
  ...tokenParts,
  ...["id", "trace", "prompt", "cost", "costSource", "aggregateUsage"],
  ...["externalId", "parentExternalId", "remoteParentId", "startTime", "endTime", "attributes", "events"],
] as const;

/** What any span may say of its trace. Its content is left out: it may be large, and mostly is that of its root. */
export const saidOfTrace = [
  ...["featureSlug", "experimentId", "sessionId", "environment", "user", "organization"],
] as const;

/** A stored log with what is compared of its trace. */
export type StoredLog = Pick<Log, Exclude<(typeof comparedColumns)[number], "trace" | "prompt">> & {
  trace: string;
  prompt: string | null;
  traceExternalId: Trace["externalId"];
  traceName: Trace["name"];
} & Pick<Trace, "rootId" | (typeof saidOfTrace)[number]>;

interface Mapped {
  span: ReportedSpan;
  step: Step;
}

/** The names of the fields in which a stored log, or what it says of its trace, differs from what its span maps to. */
export function changedFields(stored: StoredLog, mapped: Mapped): string[] {
  const { row } = mapped.step;
  const columns = mappedColumns.filter((name) => !isSame(stored[name], row[name]));
  return [...columns, ...changedUsage(stored, mapped.step), ...changedOfTrace(stored, mapped)];
}

/** Key order and members that are undefined mean nothing in JSON. */
const isSame = (a: unknown, b: unknown): boolean =>
  a === b || isDeepStrictEqual(plain(a ?? null), plain(b ?? null));

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Compares what was reported, whether the log counts or not: prices may be others today. */
function changedUsage(stored: StoredLog, { reported, usage }: Step): string[] {
  const isReported = stored.costSource === "REPORTED";
  const known: Partial<AggregateUsage> | null =
    stored.costSource === "NONE"
      ? stored.aggregateUsage
      : { ...stored, cost: isReported ? stored.cost : null };
  const cost = usage?.costSource === "REPORTED" ? usage.cost : (reported?.cost ?? null);
  const parts: string[] = tokenParts.filter((part) => !isSame(known?.[part], reported?.[part]));
  return [...parts, ...(isSame(toStored(known?.cost), toStored(cost)) ? [] : ["cost"])];
}

const toStored = (cost: number | null | undefined) => (cost == null ? null : rounded(cost));

/** A span changes of its trace what no other has said; the root changes all that it says. */
function changedOfTrace(stored: StoredLog, { span }: Mapped): string[] {
  const { trace, log } = span;
  const isRoot = stored.rootId === stored.id;
  const said = saidOfTrace.filter((name) => {
    const isSaid = trace[name] !== null && (stored[name] === null || isRoot);
    return isSaid && !isSame(stored[name], trace[name]);
  });
  const name = trace.name ?? log.name ?? log.type;
  return [...said, ...(isRoot && stored.traceName !== name ? ["name"] : [])].map((each) => `trace.${each}`);
}
