import { afterAll, expect, test } from "vitest";
import { addDataset, addPrompt, addWorkspace } from "../support/data.ts";
import { type Server, startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const other = await addWorkspace(server, "other");
const { run } = server;

const columns = [{ name: "a", type: "text" as const }];
const rows = [{ values: { a: "1" } }];
const PRICE = "setModelPrice(model: $model, inputPrice: 1, outputPrice: 1) { id }";

/** One of everything that is listed, in a workspace. */
async function fill(prefix: string, { name, token }: { name: string; token: string }) {
  const dataset = await addDataset(server, { slug: `${prefix}-data`, columns, rows, workspace: name });
  await addPrompt(server, { slug: `${prefix}-prompt`, workspace: name });
  const record = { slug: `${prefix}-prompt`, output: "x" };
  const { body } = await server.post("/monitor/log", record, { token });
  const price = await run(`mutation($model: String!) { ${PRICE} }`, { model: prefix }, token);
  const [entry] = await run("{ auditLog { id } }", {}, token);
  return {
    dataset: `${prefix}-data`,
    prompt: `${prefix}-prompt`,
    row: dataset.rowIds[0]!,
    log: body.log.id as string,
    trace: body.trace.id as string,
    price: price.id as string,
    entry: entry.id as string,
  };
}

const ours = await fill("ours", { name: "default", token: server.token });
const sibling = await addDataset(server, { slug: "sibling", columns, rows });
const theirs = await fill("theirs", other);

const LISTS: Record<string, (after: string) => string> = {
  rows: (after) => `{ dataset(slug: "ours-data") { rows(first: 5, after: "${after}") { id } } }`,
  datasets: (after) => `{ datasets(after: "${after}") { slug } }`,
  prompts: (after) => `{ prompts(after: "${after}") { slug } }`,
  logs: (after) => `{ logs(after: "${after}") { id } }`,
  traces: (after) => `{ traces(after: "${after}") { id } }`,
  modelPrices: (after) => `{ modelPrices(after: "${after}") { id } }`,
  auditLog: (after) => `{ auditLog(after: "${after}") { id } }`,
};

test.each([
  ["rows", ours.row],
  ["datasets", ours.dataset],
  ["prompts", ours.prompt],
  ["logs", ours.log],
  ["traces", ours.trace],
  ["modelPrices", ours.price],
  ["auditLog", ours.entry],
])("a page of %s begins after an entry of that list", async (list, cursor) => {
  expect(await run(LISTS[list]!(cursor))).not.toHaveProperty("error");
});

test.each([
  ["rows", "a row of another dataset", sibling.rowIds[0]!],
  ["rows", "a row of another workspace", theirs.row],
  ["datasets", "a dataset of another workspace", theirs.dataset],
  ["datasets", "a prompt", ours.prompt],
  ["prompts", "a prompt of another workspace", theirs.prompt],
  ["prompts", "a dataset", ours.dataset],
  ["logs", "a log of another workspace", theirs.log],
  ["logs", "the trace of a log", ours.trace],
  ["traces", "a trace of another workspace", theirs.trace],
  ["traces", "a log of a trace", ours.log],
  ["modelPrices", "a price of another workspace", theirs.price],
  ["auditLog", "an entry of another workspace", theirs.entry],
])("a page of %s does not begin after %s", async (list, _, cursor) => {
  expect(await run(LISTS[list]!(cursor))).toMatchObject({
    error: { code: "BAD_INPUT", details: [{ path: "after" }] },
  });
});

const adders = {
  datasets: (to: Server, slug: string) => addDataset(to, { slug, columns: [] }),
  prompts: (to: Server, slug: string) => addPrompt(to, { slug }),
};
test.each([
  ["datasets", 200],
  ["datasets", 201],
  ["prompts", 200],
  ["prompts", 201],
] as const)("REST lists all %s, in whatever number of pages they are read: %i", async (list, count) => {
  await using full = await startServer();
  const slugs = Array.from({ length: count }, (_, n) => `many-${String(n).padStart(3, "0")}`);
  for (const slug of slugs) await adders[list](full, slug);
  const { body } = await full.get(`/${list}`);
  expect(body[list].map(({ slug }: { slug: string }) => slug)).toEqual(slugs);
});
