import { createServer, type IncomingMessage } from "node:http";
import Database from "better-sqlite3";
import { v7 as uuidv7 } from "uuid";
import { decodeSpans } from "../../src/logs/otlp/decode.ts";

// The physical limit of this stack: node:http, JSON.parse and prepared statements on the same tables, no more. No token is
// checked, nothing is validated, and what a record lacks is not completed.
const database = new Database(process.env.BENCH_DATABASE!);
database.pragma("journal_mode = wal");
database.pragma("synchronous = full");

const workspace = (database.prepare("select id from workspaces").get() as { id: string }).id;
const one = (text: string) => database.prepare(text);
const insertTrace = one(
  "insert into traces (id, workspace_id, name, metadata, start_time, created_at) values (?, ?, ?, ?, ?, ?)",
);
const insertLog = one(
  `insert into logs (id, workspace_id, trace_id, type, prompt_id, prompt_slug, version, tag, provider, model, input,
    output, metadata, start_time, input_tokens, output_tokens, cost, cost_source, created_at, search_id)
  values (?, ?, ?, 'generation', ?, ?, ?, 'production', 'openai', 'gpt-4o-mini', ?, ?, ?, ?, ?, ?, ?, 'REPORTED', ?, ?)`,
);
const insertSpan = one(
  `insert into logs (id, workspace_id, trace_id, type, model, input, output, attributes, start_time, end_time, name,
    external_id, parent_external_id, input_tokens, output_tokens, cost_source, created_at, search_id)
  values (?, ?, ?, 'generation', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'UNPRICED', ?, ?)`,
);
const lastWords = one("select coalesce(max(id), 0) from log_texts_docsize").pluck();
const addWords = one(
  "insert into log_texts (rowid, workspace, input, output) select search_id, workspace, input, output from log_words where search_id > ?",
);
const insertRow = one(
  'insert into dataset_rows (id, workspace_id, dataset_id, "values", created_at) values (?, ?, ?, ?, ?)',
);
const prompt = one("select id, slug, name, description from prompts where workspace_id = ? and slug = ?");
const versions = one(
  "select id, version from prompt_versions where workspace_id = ? and prompt_id = ? order by id",
);
const tags = one("select label, version_id from prompt_tags where workspace_id = ? and prompt_id = ?");
const version = one("select text, system_text, version, model, variables from prompt_versions where id = ?");
const dataset = one("select id, slug, name, columns from datasets where workspace_id = ? and slug = ?");
const rows = one(
  'select id, "values", ideal_output, metadata from dataset_rows where dataset_id = ? and workspace_id = ? order by id',
);

type Write = { run: () => void; done: () => void };
let waiting: Write[] = [];
let words: number;
const commitAll = database.transaction((writes: Write[]) => {
  const before = lastWords.get() as number;
  words = before;
  for (const { run } of writes) run();
  if (words > before) addWords.run(before); // of all together, which takes SQLite less than one after another
});

/** Group commit: what arrives in one turn of the event loop shares a transaction. */
function commit(run: () => void): Promise<void> {
  return new Promise((done) => {
    if (waiting.length === 0)
      setImmediate(() => {
        const writes = waiting;
        waiting = [];
        commitAll.immediate(writes);
        for (const write of writes) write.done();
      });
    waiting.push({ run, done });
  });
}

// biome-ignore lint/suspicious/noExplicitAny: nothing is validated here
type Json = any;

async function log(body: Json): Promise<Json> {
  const { id: promptId } = prompt.get(workspace, body.slug) as Json;
  const [trace, id, now] = [uuidv7(), uuidv7(), Date.now()];
  const metadata = JSON.stringify(body.metadata);
  const texts = [JSON.stringify(body.input), JSON.stringify(body.output), metadata];
  const figures = [body.inputTokens, body.outputTokens, body.cost];
  await commit(() => {
    insertTrace.run(trace, workspace, body.slug, metadata, now, now);
    insertLog.run(
      id,
      workspace,
      trace,
      promptId,
      body.slug,
      "1.3.0",
      ...texts,
      now,
      ...figures,
      now,
      ++words,
    );
  });
  return { trace: { id: trace }, log: { id }, warning: null };
}

/** Decodes as Gabbro does, and stores each span as it came: nothing is mapped, priced or looked for. */
async function spans(request: IncomingMessage): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const now = Date.now();
  await commit(() => {
    const traces = new Map<string, string>();
    for (const each of decodeSpans({ bytes, encoding: "protobuf" })) {
      if (!each || !("span" in each)) continue;
      const { span } = each;
      let trace = traces.get(span.traceId);
      if (!trace) {
        trace = uuidv7();
        traces.set(span.traceId, trace);
        insertTrace.run(trace, workspace, span.name, null, span.startTime.getTime(), now);
      }
      const {
        "gen_ai.input.messages": input,
        "gen_ai.output.messages": output,
        ...rest
      } = span.attributes as Json;
      insertSpan.run(
        ...[
          uuidv7(),
          workspace,
          trace,
          rest["gen_ai.request.model"],
          input,
          output,
          JSON.stringify(span.attributes),
        ],
        ...[span.startTime.getTime(), span.endTime?.getTime(), span.name, span.spanId, span.parentSpanId],
        ...[rest["gen_ai.usage.input_tokens"], rest["gen_ai.usage.output_tokens"], now, ++words],
      );
    }
  });
}

function served(slug: string): Json {
  const head = prompt.get(workspace, slug) as Json;
  const all = versions.all(workspace, head.id) as Json[];
  const labels = tags.all(workspace, head.id) as Json[];
  const found = version.get(labels.find(({ label }) => label === "production").version_id) as Json;
  return { head, all, labels, found };
}

function describe(slug: string): Json {
  const { head, all, labels, found } = served(slug);
  return {
    prompt: {
      slug,
      name: head.name,
      status: "live",
      description: head.description,
      availableVersions: all.map((each: Json) => each.version),
      availableTags: ["latest", ...labels.map(({ label }: Json) => label)],
      variables: JSON.parse(found.variables),
      version: found.version,
      tag: "production",
    },
  };
}

function read(slug: string): Json {
  const { found } = served(slug);
  const { text, system_text: systemText, version: name, model } = found;
  return { prompt: { slug, text, systemText, version: name, tag: "production", model: JSON.parse(model) } };
}

async function addRow(slug: string, body: Json): Promise<Json> {
  const { id } = dataset.get(workspace, slug) as Json;
  await commit(() => insertRow.run(uuidv7(), workspace, id, JSON.stringify(body.values), Date.now()));
  return { datasetRow: { values: body.values, idealOutput: null, metadata: null } };
}

function readDataset(slug: string): Json {
  const { id, name, columns } = dataset.get(workspace, slug) as Json;
  const all = (rows.all(id, workspace) as Json[]).map(
    ({ id, values, ideal_output: idealOutput, metadata }) => ({
      id,
      values: JSON.parse(values),
      idealOutput,
      metadata: metadata && JSON.parse(metadata),
    }),
  );
  return { dataset: { slug, name, columns: JSON.parse(columns), rows: all } };
}

async function bodyOf(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

async function answer(request: IncomingMessage): Promise<Json> {
  const [, first, slug = "", last] = request.url!.split("/");
  if (first === "monitor") return log(await bodyOf(request));
  if (first === "datasets") return last ? addRow(slug, await bodyOf(request)) : readDataset(slug);
  return last ? describe(slug) : read(slug);
}

const server = createServer(async (request, response) => {
  if (request.url === "/v1/traces") {
    await spans(request);
    return response.end();
  }
  const text = JSON.stringify(await answer(request));
  response.setHeader("content-type", "application/json; charset=utf-8");
  response.setHeader("content-length", Buffer.byteLength(text));
  response.end(text);
});
server.listen(Number(process.env.PORT), "127.0.0.1", () => process.stdout.write("ready\n"));
process.once("SIGTERM", () => process.exit());
