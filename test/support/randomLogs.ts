import { addLogs } from "./logs.ts";
import { createRandom } from "./random.ts";
import { isOnPostgresql, type Server } from "./server.ts";

export const { random, below, oneOf, maybe, some } = createRandom(1);

/** Changes of clocks: by an hour, by half of one, at midnight, back over midnight, and a whole day left out. */
export const changes = [
  ["Europe/Berlin", "2026-03-29T01:00Z"],
  ["Europe/Berlin", "2026-10-25T01:00Z"],
  ["Africa/Cairo", "2026-04-23T22:00Z"],
  ["Africa/Cairo", "2026-10-29T21:00Z"],
  ["America/Havana", "2026-11-01T05:00Z"],
  ["America/Sao_Paulo", "2018-02-18T02:00Z"],
  ["America/Sao_Paulo", "2018-11-04T03:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T15:00Z"],
  ["Pacific/Apia", "2011-12-30T10:00Z"],
  ["Asia/Kathmandu", "2026-01-01T00:00Z"],
  ["+05:30", "2026-02-01T00:00Z"],
] as const;
export const DAY_MS = 86_400_000;
const nearChange = () => {
  const halfHours = below(8 * 48) - 4 * 48;
  return new Date(Date.parse(oneOf(changes)[1]) + halfHours * 1_800_000 + oneOf([-1, 0, 0, 1]));
};

const words = ["Nairobi", "capital", "KENYA", "zürich", "ZÜRICH", "42", "cap", "кения", "東京", "needle"];
export const word = () => (random() < 0.001 ? words.at(-1)! : oneOf(words.slice(0, -1)));
const sentence = () => some(1 + below(5), word).join(oneOf([" ", ", ", "\n", ' "', "-"]));
export const keys = ["region", "a.b", 'q"u\\o', "", "ключ", "$", "line\nbreak"];
export const values = [
  "eu",
  "1",
  "",
  "null",
  'a"\\\n',
  1,
  0,
  -1.5,
  1e21,
  0.1 + 0.2,
  5e-324,
  true,
  false,
  null,
];
const metadata = () => Object.fromEntries(some(below(4), () => [oneOf(keys), oneOf(values)]));
export const slugs = ["guide", "often", "often", "often", "it's"];
export const versions = ["1.0.0", "2.0.0"];
export const ids = ["u-1", "u-2", "Ü"];

const make = () => {
  const cost = maybe(0.8, () => below(50) / 1_000);
  const costSource = cost === null ? ("UNPRICED" as const) : ("REPORTED" as const);
  return {
    startTime: nearChange(),
    promptSlug: oneOf(slugs),
    version: maybe(0.7, () => oneOf(versions)),
    tag: maybe(0.5, () => oneOf(["production", "latest"])),
    status: maybe(0.6, () => oneOf(["ok", "error"] as const)),
    model: maybe(0.7, () => oneOf(["gpt-4o", "o3"])),
    userId: maybe(0.6, () => oneOf(ids)),
    organizationId: maybe(0.6, () => oneOf(ids)),
    input: maybe(0.9, () => oneOf([sentence(), { deep: [sentence(), 42] }])),
    output: oneOf<unknown>([sentence(), [sentence()], 42, true]),
    metadata: maybe(0.7, metadata),
    latencyMs: maybe(0.8, () => below(300)),
    inputTokens: maybe(0.8, () => below(1_000)),
    outputTokens: maybe(0.8, () => below(1_000)),
    cost,
    costSource,
  };
};
/** Thousands of logs of every kind, around changes of clocks; half of them stand far from the others in the full-text index. */
export async function addRandomLogs(server: Server) {
  const { rows: early } = await addLogs(server, 4_500, make);
  // As if many logs of others had come in between.
  const gap = "insert into log_texts (rowid, workspace) values (100000, 'gap')";
  if (!isOnPostgresql) await server.database.orm.em.fork().execute(gap);
  const { rows: late } = await addLogs(server, 4_500, make);
  return [...early, ...late];
}
export type Row = Awaited<ReturnType<typeof addRandomLogs>>[number];
