import { mappingTable, promptSources, typeSources } from "../../src/logs/otlp/mappingTable.ts";
import type { Field, Source } from "../../src/logs/otlp/source.ts";
import { costField, tokenFields } from "../../src/logs/otlp/usageTable.ts";
import { encodeSpans, newSpan, PROTOBUF } from "../../test/support/otlp.ts";
import { encodeRepeated, repeatable } from "../../test/support/otlpProto.ts";
import { BOTH, headersOf, type Input, MAX_BODY_BYTES } from "./inputs.ts";
import type { Shape } from "./shapes.ts";

const CALLER = "with a token";
const AREA = "OpenTelemetry";

const textValue = (stringValue: string) => ({ stringValue });
const attribute = (key: string, text: string) => ({ key, value: textValue(text) });

/** What one span may hold at any length. */
const texts: [name: string, spanOf: (text: string) => object][] = [
  ...[...new Set(allKeys())].map((key): (typeof texts)[number] => [
    `attribute ${key}`,
    (text) => ({ attributes: [attribute(key, text)] }),
  ]),
  ["key of an attribute", (text) => ({ attributes: [attribute(text, "a")] })],
  ["key of an object", (text) => ({ attributes: [{ key: "a", value: objectOf([attribute(text, "a")]) }] })],
  ["name", (name) => ({ name })],
  ["message of its status", (message) => ({ status: { code: 2, message } })],
  ["traceState", (traceState) => ({ traceState })],
  ["name of an event", (name) => ({ events: [{ name }] })],
  ["attribute of an event", (text) => ({ events: [eventOf(text)] })],
  ["attribute of a link", (text) => ({ links: [linkOf(text)] })],
];

const objectOf = (values: object[]) => ({ kvlistValue: { values } });
const eventOf = (text: string) => ({
  name: "gen_ai.user.message",
  attributes: [attribute("content", text)],
});
const linkOf = (text: string) => ({ ...idsOf(newSpan()), attributes: [attribute("a", text)] });
const idsOf = ({ traceId, spanId }: ReturnType<typeof newSpan>) => ({ traceId, spanId });

/** What one request may have any number of: the n-th of each takes so many characters. */
const lists: [name: string, characters: number, spansOf: (count: number) => object[]][] = [
  ...["llm.input_messages", "gen_ai.prompt", "gen_ai.completion", "retrieval.documents"].map(
    (list): (typeof lists)[number] => [
      `attributes of ${list}`,
      60,
      (count) => [
        newSpan({ attributes: many(count, (n) => attribute(`${list}.${n}.message.content`, "a")) }),
      ],
    ],
  ),
  [
    "attributes of llm.input_messages that spell objects within each other",
    70,
    (count) => [
      newSpan({
        attributes: many(count, (n) => attribute(`llm.input_messages.${n}.a.b.c.d.e.f.g.h.i.j`, "a")),
      }),
    ],
  ],
  [
    "texts of llm.input_messages that are not JSON",
    60,
    (count) => [
      newSpan({ attributes: many(count, (n) => attribute(`llm.input_messages.${n}.content`, `[a${n}]`)) }),
    ],
  ],
  [
    "JSON texts of llm.input_messages",
    400,
    (count) => [
      newSpan({
        attributes: many(count, (n) =>
          attribute(`llm.input_messages.${n}.content`, `[${"1,".repeat(150)}1]`),
        ),
      }),
    ],
  ],
  ["attributes", 20, (count) => [newSpan({ attributes: many(count, (n) => attribute(`key ${n}`, "a")) })]],
  [
    "members of the metadata",
    30,
    (count) => [newSpan({ attributes: many(count, (n) => attribute(`metadata.${n}`, "a")) })],
  ],
  [
    "values of a list",
    8,
    (count) => [
      newSpan({
        attributes: [
          { key: "input.value", value: { arrayValue: { values: many(count, () => textValue("a")) } } },
        ],
      }),
    ],
  ],
  ["events", 60, (count) => [newSpan({ events: many(count, (n) => eventOf(String(n))) })]],
  ["links", 50, (count) => [newSpan({ links: many(count, (n) => linkOf(String(n))) })]],
  ["spans", 100, (count) => many(count, () => newSpan())],
  [
    "spans of one trace",
    100,
    (count) => {
      const { traceId } = newSpan();
      return many(count, () => newSpan({ traceId }));
    },
  ],
  [
    "spans below each other",
    110,
    (count) => {
      const spans = many(count, () => newSpan());
      const [{ traceId } = newSpan()] = spans;
      return spans.map((span, n) => ({ ...span, traceId, parentSpanId: spans[n - 1]?.spanId }));
    },
  ],
  [
    "spans with one id",
    100,
    (count) => {
      const ids = idsOf(newSpan());
      return many(count, (n) => newSpan({ ...ids, name: `span ${n}` }));
    },
  ],
];

const many = <Item>(length: number, item: (n: number) => Item): Item[] =>
  Array.from({ length }, (_, n) => item(n));

/** Every key by which the mapping reads an attribute. */
function allKeys(): string[] {
  const fields: Pick<Field<unknown>, "from">[] = [
    ...Object.values(mappingTable),
    ...Object.values(tokenFields),
    costField,
  ];
  return [
    ...typeSources.map((source) => ("word" in source ? source.word : source.present)),
    ...promptSources.flatMap(({ slug, version, tag }) => [slug, version, ...(tag ? [tag] : [])]),
    ...fields.flatMap(({ from }) => from.flatMap(keysOf)),
  ];
}

function keysOf(source: Source): string[] {
  if ("resource" in source || "events" in source || "event" in source) return [];
  if ("list" in source) return [`${source.list}.0.content`];
  if ("below" in source) return [`${source.below}key`];
  if ("instructions" in source) return [source.instructions, source.messages];
  if ("parts" in source) return Object.values(source.parts);
  return [source.attribute];
}

/** The texts and the lists of spans, and of the resource around them. */
export function otlpInputs(): Input[] {
  const sent = (body: Buffer) => ({
    method: "POST",
    path: "/v1/traces",
    headers: headersOf(CALLER, { "content-type": PROTOBUF }),
    body,
  });
  const shared = { area: AREA, limit: MAX_BODY_BYTES } as const;
  return [
    ...texts.map(
      ([name, spanOf]): Input => ({
        ...shared,
        name: `POST /v1/traces ${name}`,
        kinds: BOTH,
        fill: (shape: Shape, size) => sent(encodeSpans([newSpan(spanOf(shape.make(size)))])),
      }),
    ),
    ...lists.map(
      ([name, characters, spansOf]): Input => ({
        ...shared,
        name: `POST /v1/traces ${name}`,
        kinds: ["parts"],
        fill: (_, size) => sent(encodeSpans(spansOf(Math.ceil(size / characters)))),
      }),
    ),
    ...(Object.keys(repeatable) as (keyof typeof repeatable)[]).map(
      (field): Input => ({
        ...shared,
        name: `POST /v1/traces ${field}, repeated`,
        kinds: ["parts"],
        fill: (_, size) =>
          sent(encodeRepeated([newSpan()], field, Math.ceil(size / repeatable[field].bytes.length))),
      }),
    ),
  ];
}
