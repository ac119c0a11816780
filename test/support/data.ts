import { v7 as uuidv7 } from "uuid";
import type { Column } from "../../src/datasets/entities.ts";
import type { Model, Variable } from "../../src/prompts/entities.ts";
import { type Scope, scopes } from "../../src/scopes.ts";
import { commandLineContext, createWorkspace, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { createAccessToken } from "../../src/workspaces/tokens.resolvers.ts";
import type { Server } from "./server.ts";

// No API makes workspaces, datasets and prompts yet, so the tests store them as the sample is stored.

/** Another workspace with a token of its own. */
export async function addWorkspace({ database }: Server, name: string) {
  const id = await createWorkspace(database, name);
  const input = { name: "its own", scopes: [...scopes], expiresAt: null };
  const { token } = await createAccessToken(commandLineContext(database, id), input);
  return { id, name, token };
}

export async function addToken(
  { database }: Server,
  { scopes = ["read", "write"], expiresAt = null }: { scopes?: Scope[]; expiresAt?: Date | null } = {},
) {
  const context = commandLineContext(database, await getWorkspaceId(database, "default"));
  const { token, accessToken } = await createAccessToken(context, { name: "test", scopes, expiresAt });
  return { id: accessToken.id, token };
}

interface NewDataset {
  slug: string;
  name?: string;
  columns: Column[];
  rows?: {
    values: Record<string, unknown>;
    idealOutput?: string | null;
    metadata?: Record<string, unknown> | null;
  }[];
  workspace?: string;
}

export async function addDataset(
  { database }: Server,
  { slug, name, columns, rows = [], workspace }: NewDataset,
) {
  const owner = await getWorkspaceId(database, workspace ?? "default");
  const id = uuidv7();
  const createdAt = new Date();
  await database.commit([
    ["Dataset", { id, workspace: owner, slug, name: name ?? slug, columns, createdAt }],
  ]);
  const made = rows.map(({ values, idealOutput = null, metadata = null }) => ({
    id: uuidv7(),
    workspace: owner,
    dataset: id,
    version: 1,
    name: null,
    values,
    idealOutput,
    metadata,
    createdAt,
  }));
  for (let from = 0; from < made.length; from += 1_000) {
    await database.commit(made.slice(from, from + 1_000).map((row) => ["DatasetRow", row]));
  }
  return { id, rowIds: made.map((row) => row.id) };
}

interface NewPrompt {
  slug: string;
  description?: string | null;
  /** Oldest first. */
  versions?: { version: string; text?: string; model?: Model | null; variables?: Variable[] }[];
  tags?: Record<string, string>;
  workspace?: string;
}

export async function addPrompt({ database }: Server, prompt: NewPrompt) {
  const { slug, description = null, versions = [], tags = {} } = prompt;
  const workspace = await getWorkspaceId(database, prompt.workspace ?? "default");
  const createdAt = new Date();
  const id = uuidv7();
  await database.commit([["Prompt", { id, workspace, slug, name: `The ${slug}`, description, createdAt }]]);
  const ids = new Map<string, string>();
  for (const { version, text = "Hello", model = null, variables = [] } of versions) {
    const row = {
      id: uuidv7(),
      workspace,
      prompt: id,
      version,
      text,
      systemText: null,
      model,
      variables,
      createdAt,
    };
    await database.commit([["PromptVersion", row]]);
    ids.set(version, row.id);
  }
  for (const [label, version] of Object.entries(tags)) {
    const row = { id: uuidv7(), workspace, prompt: id, label, version: ids.get(version)!, createdAt };
    await database.commit([["PromptTag", row]]);
  }
  return { id };
}

export function model(provider: string | null, name: string): Model {
  return { provider, client: null, model: name, version: null, parameters: {} };
}
