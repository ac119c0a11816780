import { migrate } from "../src/database/migrate.ts";
import { type Database, openDatabase } from "../src/database/open.ts";
import { createDataset } from "../src/datasets/authoring.resolvers.ts";
import { addDatasetItems } from "../src/datasets/items.resolvers.ts";
import { entities } from "../src/entities.ts";
import { createPrompt, createPromptVersion } from "../src/prompts/authoring.resolvers.ts";
import { publishPrompt } from "../src/prompts/tags.resolvers.ts";
import { seedDatabase } from "../src/sample/seed.ts";
import { commandLineContext, getWorkspaceId } from "../src/workspaces/resolvers.ts";

export const TOKEN = "a-token-for-measuring-only-0123456789";
const VERSIONS = 5;
const ROWS = 10_000;
const AT_ONCE = 1_000;

/** Makes a database, in a file or at the URL of an empty one, with what the cases ask for: a prompt with five versions, and two datasets. */
export async function prepare(at: string): Promise<void> {
  const database = await openDatabase(at.includes(":") ? at : `sqlite:${at}`, entities);
  try {
    await migrate(database);
    await seedDatabase(database, { firstToken: TOKEN, sample: "empty" });
    await fill(database);
  } finally {
    await database.close();
  }
}

async function fill(database: Database): Promise<void> {
  const context = () => getWorkspaceId(database, "default").then((id) => commandLineContext(database, id));
  await createPrompt(await context(), { slug: "greeting", name: "Greeting", description: "Greets people." });
  for (let n = 1; n <= VERSIONS; n++) {
    const version = `1.${n}.0`;
    const model = { provider: "openai", client: "openai", model: "gpt-4o-mini", version: null };
    const text = "Greet {{ name }}, who lives in {{ country }}, in one {{ tone }} sentence.";
    const input = {
      version,
      text,
      systemText: "Be brief.",
      model: { ...model, parameters: { temperature: 0.2 } },
    };
    await createPromptVersion(await context(), { slug: "greeting", input });
  }
  await publishPrompt(await context(), { slug: "greeting", newTag: "production", version: "1.3.0" });
  await createDataset(await context(), {
    slug: "small",
    columns: [
      { name: "question", type: "text" },
      { name: "answer", type: "text" },
    ],
  });
  const columns = ["a", "b", "c", "d", "e"];
  await createDataset(await context(), {
    slug: "large",
    columns: columns.map((name) => ({ name, type: "text" as const })),
  });
  for (let from = 0; from < ROWS; from += AT_ONCE) {
    const items = Array.from({ length: AT_ONCE }, (_, at) => ({
      values: Object.fromEntries(columns.map((name) => [name, `the value of ${name} in row ${from + at}`])),
      idealOutput: `ideal ${from + at}`,
    }));
    await addDatasetItems(await context(), { slug: "large", input: { items } });
  }
}
