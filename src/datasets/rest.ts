import { Readable } from "node:stream";
import { z } from "zod";
import type { Context } from "../context.ts";
import type { App, FastifyReply } from "../http/app.ts";
import { disableDeadline } from "../limits/deadline.ts";
import { errorBody, errorResponses, errorResponsesToBody } from "../rest/errorResponses.ts";
import { readRowForms } from "./clientForms.inputs.ts";
import { readForms, withForms } from "./clientForms.rest.ts";
import { type Column, columnTypes } from "./entities.ts";
import { datasetChoice, datasetRowInput, datasetSlugInput } from "./inputs.ts";
import { addDatasetItem } from "./items.resolvers.ts";
import { allDatasets } from "./listing.resolvers.ts";
import { allDatasetRowTexts, readWarning } from "./reading.resolvers.ts";
import type { DatasetHead } from "./resolvers.ts";
import { dataset } from "./versions.resolvers.ts";

const notFound = {
  404: errorBody.describe("There is no dataset with that slug, or it has no such version or tag."),
};

const rowAnswer = z.object({
  id: z.string().describe("The id, a UUID."),
  values: z.record(z.string(), z.unknown()).describe("The value of each column, by the column's name."),
  idealOutput: z.string().nullable().describe("The output that a model should give for this row."),
  metadata: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe("Anything else that was kept with the row."),
});

export const datasetAnswer = z
  .object({
    dataset: z.object({
      slug: z.string().describe("The slug, unique in the workspace."),
      name: z.string().describe("The name to show."),
      columns: z
        .array(z.object({ name: z.string(), type: z.enum(columnTypes) }))
        .describe("The columns in order."),
      version: z.int().describe("The version: one more with each change of its rows or columns."),
      rows: z.array(rowAnswer).describe("All rows in the order in which they were added."),
    }),
    warning: z
      .string()
      .optional()
      .describe("Names the columns that stored rows have values for but the dataset lacks."),
  })
  .describe("The dataset with all its rows.");

export const datasetsAnswer = z
  .object({
    datasets: z.array(datasetAnswer.shape.dataset.pick({ slug: true, name: true, columns: true })),
  })
  .describe("All datasets in the order of their slugs, without their rows.");

export const addDatasetItemAnswer = z
  .object({
    datasetRow: rowAnswer.extend({
      idealOutput: rowAnswer.shape.idealOutput.unwrap().optional(),
      name: z.string().optional().describe("The name of the row, when it has one."),
    }),
    warning: z
      .string()
      .optional()
      .describe(
        "Names the columns whose values were left out, and the members that were read in another form than documented.",
      ),
  })
  .describe("The row as it was stored.");

/** The REST routes of datasets. */
export function datasetRoutes(app: App): void {
  app.route({
    method: "GET",
    url: "/datasets",
    schema: {
      operationId: "datasets",
      summary: "List the datasets",
      tags: ["datasets"],
      response: { 200: datasetsAnswer, ...errorResponses },
    },
    handler: async ({ context }, reply) => {
      disableDeadline(context); // a page at a time, as fast as the client reads
      return sendJson(reply, datasetsJson(context));
    },
  });

  app.route({
    method: "GET",
    url: "/datasets/:slug",
    schema: {
      operationId: "dataset",
      summary: "Read a dataset with its columns and rows",
      tags: ["datasets"],
      params: datasetSlugInput,
      querystring: datasetChoice,
      response: { 200: datasetAnswer, ...errorResponses, ...notFound },
    },
    handler: async ({ context, params, query }, reply) => {
      const head = await dataset(context, { ...params, ...query });
      disableDeadline(context); // a piece at a time, as fast as the client reads
      return sendJson(reply, datasetJson(context, head));
    },
  });

  app.route({
    method: "POST",
    url: "/datasets/:slug/items",
    schema: {
      operationId: "addDatasetItem",
      summary: "Add a row to a dataset",
      tags: ["datasets"],
      params: datasetSlugInput,
      body: datasetRowInput,
      response: { 201: addDatasetItemAnswer, ...errorResponsesToBody, ...notFound },
    },
    preValidation: readForms(readRowForms),
    handler: async (request, reply) => {
      const { context, params, body } = request;
      const { datasetRow, warnings } = await addDatasetItem(context, { ...params, input: body });
      const warning = withForms(request, warnings);
      const { id, name, values, idealOutput, metadata } = datasetRow;
      reply.status(201);
      return {
        // Clients of 2025 take a row for one that was not stored when its ideal output is null.
        datasetRow: {
          id,
          ...(name !== null && { name }),
          values,
          ...(idealOutput !== null && { idealOutput }),
          metadata,
        },
        ...(warning !== null && { warning }),
      };
    },
  });
}

const MAX_BUFFERED_CHARACTERS = 64 * 1024;

async function sendJson(reply: FastifyReply, pieces: AsyncGenerator<string>) {
  const answer = await textOrStream(pieces);
  return reply.type("application/json; charset=utf-8").send(answer);
}

/** Short answers as one text, which costs less time and memory than a stream. */
async function textOrStream(pieces: AsyncGenerator<string>): Promise<string | Readable> {
  let text = "";
  while (text.length <= MAX_BUFFERED_CHARACTERS) {
    const { done, value } = await pieces.next();
    if (done) return text;
    text += value;
  }
  return Readable.from(prepend(text, pieces), { highWaterMark: 1 }); // reads no piece ahead
}

async function* prepend(beginning: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield beginning;
  yield* rest;
}

/** The answer dataset by dataset. */
async function* datasetsJson(context: Context): AsyncGenerator<string> {
  let text = '{"datasets":[';
  let comma = "";
  for await (const { slug, name, columns } of allDatasets(context)) {
    text += comma + JSON.stringify({ slug, name, columns: columns.map(publicColumn) });
    comma = ",";
    if (text.length < MAX_BUFFERED_CHARACTERS) continue;
    yield text;
    text = "";
  }
  yield `${text}]}`;
}

/** The answer piece by piece, so that no dataset is in memory as a whole. */
async function* datasetJson(context: Context, head: DatasetHead): AsyncGenerator<string> {
  const { parent, pieces } = await allDatasetRowTexts(context, head);
  const { slug, name, columns, version } = parent;
  const omitted = new Set<string>();
  let before = `{"dataset":${JSON.stringify({ slug, name, columns: columns.map(publicColumn), version }).slice(0, -1)},"rows":[`;
  for await (const piece of pieces) {
    for (const column of piece.omitted) omitted.add(column);
    yield before + piece.texts.join(",");
    before = ",";
  }
  if (before !== ",") yield before; // no rows
  const warning = readWarning(omitted);
  yield `]}${warning === null ? "" : `,"warning":${JSON.stringify(warning)}`}}`;
}

/** A column without the key of its values, which is internal. */
function publicColumn({ name, type }: Column) {
  return { name, type };
}
