import { Readable } from "node:stream";
import { v7 as uuidv7 } from "uuid";
import { consoleSessionPage } from "../../src/console/sessionList.resolvers.ts";
import { signIn } from "../../src/console/sessions.resolvers.ts";
import type { Context } from "../../src/context.ts";
import type { Database } from "../../src/database/open.ts";
import { createDataset } from "../../src/datasets/authoring.resolvers.ts";
import { datasetRowInput } from "../../src/datasets/inputs.ts";
import { addDatasetItem } from "../../src/datasets/items.resolvers.ts";
import { tagDatasetVersion } from "../../src/datasets/tags.resolvers.ts";
import { uploadFile } from "../../src/files/contents.resolvers.ts";
import { generateUploadUrl, getSignedFile } from "../../src/files/resolvers.ts";
import { recordRejected, storeRejected } from "../../src/inbox/recording.resolvers.ts";
import { rejectedItems } from "../../src/inbox/resolvers.ts";
import { logPromptRecord } from "../../src/logs/inputs.ts";
import { logPrompt } from "../../src/logs/resolvers.ts";
import { setModelPrice } from "../../src/pricing/resolvers.ts";
import { createPrompt, createPromptVersion } from "../../src/prompts/authoring.resolvers.ts";
import { publishPrompt } from "../../src/prompts/tags.resolvers.ts";
import { auditLog } from "../../src/workspaces/audit.resolvers.ts";
import { commandLineContext } from "../../src/workspaces/resolvers.ts";
import { createAccessToken } from "../../src/workspaces/tokens.resolvers.ts";

/** What an operation can be asked about; one that removes something takes a fixture that nothing else needs. */
export interface Fixtures {
  dataset: string;
  spareDataset: string;
  /** A slug that no dataset and no prompt has. */
  unused: string;
  prompt: string;
  sparePrompt: string;
  row: string;
  spareRow: string;
  /** The key of a file. */
  file: string;
  log: string;
  trace: string;
  price: string;
  sparePrice: string;
  accessToken: string;
  /** A session of a token of its own. */
  session: string;
  auditEntry: string;
  rejectedItem: string;
  /** What another row of the dataset is known by. */
  key: string;
}

/** Fixtures that are nowhere, named as those of `mark` would be. */
export function missingFixtures(mark: string): Fixtures {
  return {
    dataset: `${mark}-dataset`,
    spareDataset: `${mark}-spare-dataset`,
    unused: `${mark}-unused`,
    prompt: `${mark}-prompt`,
    sparePrompt: `${mark}-spare-prompt`,
    row: uuidv7(),
    spareRow: uuidv7(),
    file: `datasets/${uuidv7()}/${uuidv7()}.jpg`,
    log: uuidv7(),
    trace: uuidv7(),
    price: uuidv7(),
    sparePrice: uuidv7(),
    accessToken: uuidv7(),
    session: uuidv7(),
    auditEntry: uuidv7(),
    rejectedItem: uuidv7(),
    key: `${mark}-key`,
  };
}

/** Makes one of everything in a workspace. Their names begin with `mark`, and all their texts have `secret` in it. */
export async function addFixtures(
  database: Database,
  workspaceId: string,
  { mark, secret }: { mark: string; secret: string },
): Promise<Fixtures> {
  const context = () => commandLineContext(database, workspaceId); // each unit of work is one of its own
  const fixtures = missingFixtures(mark);
  Object.assign(
    fixtures,
    await addDatasets(context, fixtures, secret),
    await addPrompts(context, fixtures, secret),
  );
  const prices: string[] = [];
  for (const model of [fixtures.prompt, fixtures.sparePrompt]) {
    const price = { model, inputPrice: 1, outputPrice: 1, provider: secret, validFrom: null };
    prices.push((await setModelPrice(context(), price)).id);
  }
  const expiresAt = new Date(Date.now() + 3_600_000);
  const { accessToken } = await createAccessToken(context(), { name: secret, scopes: ["read"], expiresAt });
  const [entry] = await auditLog(context(), { limit: 1 });
  const texts = { endpoint: "POST /", client: secret, code: "BAD_INPUT", reason: secret, sample: secret };
  recordRejected(database, workspaceId, texts);
  await storeRejected(database);
  const [rejected] = await rejectedItems(context(), { limit: 1 });
  return {
    ...fixtures,
    file: await addFile(context(), secret),
    price: prices[0]!,
    sparePrice: prices[1]!,
    accessToken: accessToken.id,
    session: await addSession(context, secret),
    auditEntry: entry!.id,
    rejectedItem: rejected!.id,
  };
}

async function addSession(context: () => Context, secret: string): Promise<string> {
  const input = { name: secret, scopes: ["read" as const], expiresAt: null };
  const { token } = await createAccessToken(context(), input);
  await signIn(context().database, { token });
  const [session] = await consoleSessionPage(context(), { limit: 1, inverted: true });
  return session!.id;
}

async function addFile(context: Context, secret: string): Promise<string> {
  const file = { fileName: `${secret}.jpg`, contentType: "image/jpeg", sizeBytes: null };
  const { fileKey, uploadUrl } = await generateUploadUrl(context, file);
  const { pathname, searchParams } = new URL(uploadUrl, "http://localhost");
  const [, workspaceId, name] = pathname.split("/datasets/")[1]!.match(/^([^/]+)\/(.+)$/)!;
  const signed = { workspaceId: workspaceId!, name: name!, ...Object.fromEntries(searchParams) };
  const stored = await getSignedFile(context.database, "upload", signed);
  const body = [Buffer.from(secret)];
  const upload = { contentType: "image/jpeg", sizeBytes: undefined, body: Readable.from(body) };
  await uploadFile(context.database, stored, upload);
  return fileKey;
}

async function addDatasets(context: () => Context, { dataset, spareDataset, key }: Fixtures, secret: string) {
  const columns = ["question", "answer"].map((name) => ({ name, type: "text" as const }));
  await createDataset(context(), { slug: spareDataset, columns });
  await createDataset(context(), { slug: dataset, name: secret, columns });
  const add = (more: object) => {
    const input = { name: secret, values: { question: secret }, idealOutput: secret, metadata: { secret } };
    return addDatasetItem(context(), {
      slug: dataset,
      input: datasetRowInput.parse({ ...input, ...more }),
    });
  };
  const { datasetRow } = await add({});
  const spare = await add({});
  await add({ key });
  for (const tag of ["gate", "spare"])
    await tagDatasetVersion(context(), { slug: dataset, input: { tag, to: { version: 3, tag: null } } });
  return { row: datasetRow.id, spareRow: spare.datasetRow.id };
}

async function addPrompts(context: () => Context, { prompt, sparePrompt }: Fixtures, secret: string) {
  await createPrompt(context(), { slug: sparePrompt });
  await createPrompt(context(), { slug: prompt, name: secret, description: secret });
  for (const version of ["1.0.0", "2.0.0"]) {
    const input = { version, text: `${secret} {{ name }}`, systemText: secret, model: null, variables: null };
    await createPromptVersion(context(), {
      slug: prompt,
      input: { ...input, text: `${version} ${input.text}` },
    });
  }
  for (const [newTag, version] of [
    ["production", "1.0.0"],
    ["staging", "1.0.0"],
    ["staging", "2.0.0"],
    ["spare", "1.0.0"],
  ] as const)
    await publishPrompt(context(), { slug: prompt, newTag, version });
  const input = { input: secret, output: secret, idealOutput: secret, metadata: { secret } };
  const party = { id: secret, name: secret };
  const record = { slug: prompt, name: secret, user: party, organization: party, cost: 1_000_000 };
  const logged = await logPrompt(context(), logPromptRecord.parse({ ...record, ...input }));
  return { log: logged.log.id, trace: logged.trace.id };
}
