import { afterAll, beforeAll, expect, test } from "vitest";
import { addDataset, addPrompt } from "../support/data.ts";
import golden from "../support/restAnswers.json" with { type: "json" };
import { startServer } from "../support/server.ts";

/**
 * A request of one of the four operations, and the bytes of its answer, without ids. But for members that were added since (the
 * `version` of a dataset, the `id` of a row) and nulls that clients refuse, these are the answers of the first days.
 */
interface GoldenAnswer {
  request: string;
  body?: unknown;
  status: number;
  answer: string;
}

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

beforeAll(async () => {
  await addDataset(server, {
    slug: "capitals",
    name: "Capitals",
    columns: [
      { name: "country", type: "text" },
      { name: "flag", type: "image" },
      { name: "facts", type: "json" },
    ],
    rows: [
      { values: { country: "Kenya" }, idealOutput: "Nairobi", metadata: { reviewed: true, by: null } },
      { values: { facts: { population: 1.5, tags: ["a", null, "é\u2028"] }, country: "" } },
    ],
  });
  await addDataset(server, {
    slug: "narrowed",
    columns: [{ name: "a", type: "file" }],
    rows: [{ values: { a: "1", b: "2", c: "3" } }],
  });
  await addDataset(server, { slug: "empty", columns: [] });
  await addPrompt(server, {
    slug: "guide",
    description: "Answers travellers",
    versions: [
      { version: "1.0.0", text: "Hello {{ name }}" },
      {
        version: "1.1.0",
        text: "Hello {{ name }} of {{ place }}",
        variables: [
          { label: "name", type: "string", description: "Who asks" },
          { label: "place", type: "string", description: null },
        ],
      },
      { version: "2.0.0" },
    ],
    tags: { production: "1.1.0", staging: "2.0.0" },
  });
  await addPrompt(server, { slug: "draft", versions: [{ version: "1" }, { version: "2" }] });
  await addPrompt(server, { slug: "bare" });
});

const withoutIds = (answer: string) =>
  answer.replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "id");

async function send({ request, body }: Pick<GoldenAnswer, "request" | "body">) {
  const [method, path] = request.split(" ") as [string, string];
  const response = await fetch(server.url + path, {
    method,
    headers: {
      authorization: `Bearer ${server.token}`,
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  return { status: response.status, answer: withoutIds(await response.text()) };
}

test("requests of the four operations are answered with the same bytes as ever", async () => {
  const answers: GoldenAnswer[] = [];
  // One by one: later requests read what earlier ones added.
  for (const { status: _, answer: __, ...request } of golden as GoldenAnswer[])
    answers.push({ ...request, ...(await send(request)) });
  expect(answers).toEqual(golden);
});
