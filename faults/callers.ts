import { withoutSignatures } from "../test/support/files.ts";
import type { Fixtures } from "../test/support/fixtures.ts";
import {
  type GraphqlRequest,
  mutationOperations,
  queryOperations,
  type RestRequest,
  restOperations,
} from "../test/support/operations.ts";
import type { Random } from "../test/support/random.ts";

/** Who sends random operations with one token, about what is its own and what is others'. */
export interface Caller {
  token: string;
  theirs: Fixtures[];
  own: Fixtures[];
  /** The number of each id that it received, in the order in which it received them. */
  numbers: Map<string, number>;
}

export function createCaller(of: Omit<Caller, "numbers">): Caller {
  return { ...of, numbers: new Map() };
}

export interface Sent {
  name: string;
  method: string;
  path: string;
  body: string | undefined;
  headers: Record<string, string>;
  /** Whether it may be asked again without a difference. */
  isRead: boolean;
}

const KEYED = 0.2;
const LEFT_OUT = 0.4;

/** What a caller sends next; the same random numbers give callers the same, but for the fixtures. */
export function drawRequest({ token, theirs, own }: Caller, random: Random): Sent {
  const fixtures = drawFixtures(theirs, own, random);
  const at = random.below(restOperations.length + queryOperations.length + mutationOperations.length);
  const rest = restOperations[at];
  const key = random.maybe(KEYED, () => random.oneOf([...theirs, ...own]).key);
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    ...(key && { "idempotency-key": key }),
  };
  if (rest) {
    const { method, path, body } = rest.request(fixtures) satisfies RestRequest;
    const isRead = method === "GET";
    const { "content-type": _, ...plain } = headers;
    return {
      ...{ name: rest.name, method, path, isRead },
      body: body && JSON.stringify(body),
      headers: isRead ? plain : headers,
    };
  }
  const operation = [...queryOperations, ...mutationOperations][at - restOperations.length]!;
  const request = vary(operation.request(fixtures), fixtures, random);
  return {
    ...{ name: operation.name, method: "POST", path: "/graphql", headers },
    body: JSON.stringify(request),
    isRead: queryOperations.some(({ name }) => name === operation.name),
  };
}

/** Each kind of thing from another set: mostly those of others. */
function drawFixtures(theirs: Fixtures[], own: Fixtures[], random: Random): Fixtures {
  const kinds = Object.keys(own[0]!) as (keyof Fixtures)[];
  const drawn = kinds.map((kind) => {
    const from = random.oneOf(random.random() < 0.6 ? theirs : own);
    // What others have is made again here under the same name, and what is here is removed.
    if (kind === "unused") return [kind, random.oneOf([from.unused, from.dataset, from.prompt])];
    if (kind === "dataset" || kind === "prompt")
      return [kind, random.oneOf([from[kind], from[kind], from.unused])];
    return [kind, from[kind]];
  });
  return Object.fromEntries(drawn);
}

/** In all that the workspace which is asked about has received. */
export const SECRET = "knowntonobodyelse";

/** Leaves out some of what may be left out, and asks for logs in other ways. */
function vary({ query, variables }: GraphqlRequest, { prompt }: Fixtures, random: Random): GraphqlRequest {
  const given: Record<string, unknown> = { ...variables };
  for (const name of Object.keys(given)) {
    const isNeeded = new RegExp(`\\$${name}: [^,)]*!`).test(query);
    if (!isNeeded && random.random() < LEFT_OUT) delete given[name];
  }
  const filter = random.oneOf<object>([
    {},
    { slug: prompt },
    { text: SECRET },
    { text: `${SECRET.slice(0, 5)}*`, slug: prompt },
    { userId: SECRET },
    { organizationId: SECRET },
    { metadata: [{ key: "secret", value: SECRET }] },
    { minCost: 1_000 },
    { version: "1.0.0" },
  ]);
  const groupBy = random.oneOf(["DAY", "PROMPT", "VERSION", "MODEL", "USER", "ORGANIZATION"]);
  if (given.filter) given.filter = filter;
  if (given.groupBy) given.groupBy = groupBy;
  return { query, variables: given };
}

const UUID = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?/g;

/** An answer with numbers and kinds in place of the names of fixtures, ids and times. */
export function withoutNames({ numbers, theirs, own }: Caller, answer: string): string {
  const named = theirs.flatMap((set, at) =>
    Object.entries(set).map(([kind, name]) => [name, `<their ${kind} ${at}>`] as const),
  );
  const mine = own.flatMap((set, at) =>
    Object.entries(set).map(([kind, name]) => [name, `<own ${kind} ${at}>`] as const),
  );
  const names = [...named, ...mine].toSorted(([one], [other]) => other.length - one.length);
  const renamed = names.reduce((text, [name, instead]) => text.replaceAll(name, instead), answer);
  return withoutSignatures(renamed)
    .replaceAll(UUID, (id) => `<id ${numberOf(numbers, id)}>`)
    .replaceAll(TIME, "<time>");
}

function numberOf(numbers: Map<string, number>, id: string): number {
  const number = numbers.get(id) ?? numbers.size;
  numbers.set(id, number);
  return number;
}
