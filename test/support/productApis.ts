import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

// The parts of the public APIs of other products that the loops of docs/migrating.md ask: their paths, the names of their
// parameters and members, how they page and how they authenticate, by the products' references and published types.

export const KEY = "the-key-of-a-reader";
/** What the loops have in place of an id that the reader knows. */
const PROJECT = "YOUR-PROJECT-ID";
/** A page of these APIs, where it may be shorter than was asked for. */
const PAGE = 2;

/** What is asked of an API. The parts of the path are decoded. */
interface Asked {
  path: string[];
  query: Record<string, string>;
  body: Record<string, unknown>;
}

/** An API: the header that authenticates, and the answer to a request; undefined is 404. */
export interface ProductApi {
  header: [name: string, value: string];
  answer: (method: string, asked: Asked) => unknown;
}

/** Serves an API and lists the requests that it refused. */
export async function startApi({ header: [name, value], answer }: ProductApi) {
  const refused: string[] = [];
  const answerTo = async (request: IncomingMessage) => {
    const { pathname, searchParams } = new URL(request.url!, "http://localhost");
    const path = pathname.split("/").slice(1).map(decodeURIComponent);
    const query = Object.fromEntries(searchParams);
    const isPost = request.method === "POST";
    const body = isPost ? ((await json(request)) as Record<string, unknown>) : {};
    if (isPost && request.headers["content-type"] !== "application/json") return { status: 415 };
    if (request.headers[name] !== value) return { status: 401 };
    const found = answer(request.method!, { path, query, body });
    return found === undefined ? { status: 404 } : { status: 200, found };
  };
  const server = createServer(async (request, response) => {
    const { status, found = { error: "refused" } } = await answerTo(request);
    if (status !== 200) refused.push(`${status} ${request.method} ${request.url}`);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(found));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at + 1);
/** A name that a path and a table have to escape. */
const NAMES = ["Movie Critic", "chat/support", "größe 100%"];

const QUIZ = { id: "d", name: "Quiz", projectId: "p", createdAt: "2026-10-01T10:00:00.000Z" };

/** Pages by number, and the number of pages. */
function langfusePage<T>(all: T[], { page = "1" }: Asked["query"]) {
  const totalPages = Math.ceil(all.length / PAGE);
  const data = all.slice((Number(page) - 1) * PAGE, Number(page) * PAGE);
  return { data, meta: { page: Number(page), limit: PAGE, totalItems: all.length, totalPages } };
}

export const langfuse: ProductApi = {
  header: ["authorization", `Basic ${Buffer.from(`pk:${KEY}`).toString("base64")}`],
  answer: (method, { path, query }) => {
    const place = path.slice(0, 4).join("/");
    if (method !== "GET") return undefined;
    if (place === "api/public/v2/datasets") return langfusePage([QUIZ], query);
    if (place === "api/public/dataset-items") {
      const items = numbers(5).map((n) => ({ id: `i${n}`, input: { n }, datasetName: "Quiz" }));
      return langfusePage(items, query);
    }
    if (place !== "api/public/v2/prompts") return undefined;
    if (path.length === 4)
      return langfusePage(
        NAMES.map((each) => ({ name: each, versions: [1, 2], labels: ["production"], tags: [] })),
        query,
      );
    const { version, resolve } = query;
    if (!NAMES.includes(path[4]!) || resolve !== "false" || !["1", "2"].includes(version!)) return undefined;
    const labels = version === "2" ? ["production", "latest"] : [];
    const of = { name: path[4], version: Number(version), labels, tags: [] };
    return { ...of, type: "text", prompt: `Tell ${version} of {{topic}}.\n\tÜ`, config: {} };
  },
};

export const braintrust: ProductApi = {
  header: ["authorization", `Bearer ${KEY}`],
  answer: (method, { path: [v1, kind, id, fetch], query, body }) => {
    const lists: Record<string, object[]> = {
      dataset: numbers(3).map((n) => ({ id: `d${n}`, project_id: PROJECT, name: `Quiz ${n}` })),
      prompt: numbers(3).map((n) => ({
        ...{ id: `p${n}`, _xact_id: "1", name: `Prompt ${n}`, slug: `prompt-${n}` },
        prompt_data: { prompt: { type: "completion", content: "Hi {{name}}" } },
      })),
    };
    if (v1 !== "v1") return undefined;
    if (method === "GET" && id === undefined) {
      const all = (lists[kind!] ?? []) as { id: string }[];
      const at = all.findIndex((each) => each.id === query.starting_after) + 1;
      return { objects: all.slice(at, at + PAGE) };
    }
    if (method !== "POST" || fetch !== "fetch") return undefined;
    const isDataset = kind === "dataset" && /^d\d$/.test(id!);
    if (!isDataset && (kind !== "project_logs" || id !== PROJECT)) return undefined;
    const events = numbers(5).map((n) => ({
      ...{ id: `${id}-${n}`, _xact_id: "1", span_id: `${id}-${n}`, root_span_id: `${id}-${n}` },
      ...(isDataset ? { dataset_id: id, input: { n } } : { log_id: "g", metrics: { start: 1.79e9 } }),
    }));
    const at = body.cursor === null ? 0 : Number(body.cursor);
    const isLast = at + PAGE >= events.length;
    return { events: events.slice(at, at + PAGE), cursor: isLast ? null : String(at + PAGE) };
  },
};

/** A prompt as LangChain writes it. */
const manifest = (template: string) => ({
  ...{ lc: 1, type: "constructor", id: ["langchain", "prompts", "prompt", "PromptTemplate"] },
  kwargs: { input_variables: ["n"], template, template_format: "f-string" },
});

export const langsmith: ProductApi = {
  header: ["x-api-key", KEY],
  answer: (method, { path, query, body }) => {
    const [place, owner, repo, hash] = path.slice(2);
    const some = <T>(all: T[]) => all.slice(Number(query.offset), Number(query.offset) + Number(query.limit));
    const more = numbers(103);
    if (path.slice(0, 2).join("/") !== "api/v1") return undefined;
    if (method === "POST" && path.slice(2).join("/") === "runs/query") {
      if (JSON.stringify(body.session) !== JSON.stringify([PROJECT])) return undefined;
      const at = Number(body.cursor ?? 0);
      const runs = more.slice(at, at + Number(body.limit)).map((n) => {
        const id = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
        return { id, trace_id: id, name: "run", run_type: "chain", start_time: "2026-10-01T10:00:00Z" };
      });
      const end = at + runs.length;
      return { runs, cursors: { next: end < more.length ? String(end) : null } };
    }
    if (method !== "GET") return undefined;
    if (place === "repos" && !owner && query.is_public === "false")
      return { repos: some([1, 2].map((n) => ({ repo_handle: `repo-${n}` }))), total: 2 };
    if (place === "datasets")
      return some([1, 2].map((n) => ({ id: `d${n}`, name: `Quiz ${n}`, data_type: "kv" })));
    if (place === "examples" && /^d\d$/.test(query.dataset ?? ""))
      return some(
        more.map((n) => ({ id: `${query.dataset}-${n}`, dataset_id: query.dataset, inputs: { n } })),
      );
    if (owner !== "-" || !/^repo-\d+$/.test(repo ?? "")) return undefined;
    if (place === "repos" && hash === "tags") return [{ tag_name: "production", commit_hash: "c2" }];
    if (place !== "commits") return undefined;
    if (!hash) {
      const commits = [2, 1].map((n) => ({ commit_hash: `c${n}`, created_at: `2026-10-0${n}T10:00:00Z` }));
      return { commits: some(commits), total: 2 };
    }
    return query.include_model === "true"
      ? { commit_hash: hash, manifest: manifest(`${hash} {n}`), examples: [] }
      : undefined;
  },
};

export const promptLayer: ProductApi = {
  header: ["x-api-key", KEY],
  answer: (method, { path: [place, name], query: { page = "1" }, body }) => {
    if (place !== "prompt-templates") return undefined;
    if (method === "GET" && name === undefined) {
      const items = NAMES.map((each) => ({ prompt_name: each, version: 3 }));
      return { items: items.slice((Number(page) - 1) * PAGE, Number(page) * PAGE), total: items.length };
    }
    const version = body.label === "prod" && name !== NAMES[1] ? 2 : body.version;
    if (method !== "POST" || !NAMES.includes(name!) || ![1, 2, 3].includes(version as number))
      return undefined;
    const content = [{ type: "text", text: `Tell ${version} of {topic}.` }];
    return {
      ...{ id: 7, prompt_name: name, version, commit_message: "", tags: [], metadata: null },
      prompt_template: { type: "completion", content, template_format: "f-string" },
    };
  },
};
