import { Readable } from "node:stream";
import { z } from "zod";
import type { Context } from "../context.ts";
import type { App, FastifyReply } from "../http/app.ts";
import { disableDeadline } from "../limits/deadline.ts";
import { errorBody, errorResponses, errorResponsesToBody } from "../rest/errorResponses.ts";
import { pagesOf } from "../validation/pagination.ts";
import { datasetsAfter } from "./authoring.resolvers.ts";
import { type Column, columnTypes } from "./entities.ts";
import { datasetInput, datasetRowInput } from "./inputs.ts";
import { allDatasetRowTexts, omittedOnRead } from "./reading.resolvers.ts";
import { addDatasetItem, type DatasetHead, dataset } from "./resolvers.ts";

const notFound = { 404: errorBody.describe("There is no dataset with that slug.") };

const rowAnswer = z.object({
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
      name: z.string().optional().describe("The name of the row, when it has one."),
    }),
    warning: z.string().optional().describe("Names the columns whose values were left out."),
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
      disableDeadline(context); // it goes out page by page, as fast as its reader takes it
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
      params: datasetInput,
      response: { 200: datasetAnswer, ...errorResponses, ...notFound },
    },
    handler: async ({ context, params }, reply) => {
      const found = await dataset(context, params);
      disableDeadline(context); // it goes out piece by piece, as fast as its reader takes it
      return sendJson(reply, datasetJson(context, found));
    },
  });

  app.route({
    method: "POST",
    url: "/datasets/:slug/items",
    schema: {
      operationId: "addDatasetItem",
      summary: "Add a row to a dataset",
      tags: ["datasets"],
      params: datasetInput,
      body: datasetRowInput,
      response: { 201: addDatasetItemAnswer, ...errorResponsesToBody, ...notFound },
    },
    handler: async ({ context, params, body }, reply) => {
      const { datasetRow, warning } = await addDatasetItem(context, { ...params, input: body });
      const { name, values, idealOutput, metadata } = datasetRow;
      reply.status(201);
      return {
        datasetRow: { ...(name !== null && { name }), values, idealOutput, metadata },
        ...(warning !== null && { warning }),
      };
    },
  });
}

const LONGEST_TEXT = 64 * 1024;

async function sendJson(reply: FastifyReply, pieces: AsyncGenerator<string>) {
  const answer = await textOrStream(pieces);
  // The type of a route's answer knows its JSON, not that it may also come as a stream.
  return reply.type("application/json; charset=utf-8").send(answer as never);
}

/** What is short as one text, which costs less than a stream and leaves less behind. */
async function textOrStream(pieces: AsyncGenerator<string>): Promise<string | Readable> {
  let text = "";
  while (text.length <= LONGEST_TEXT) {
    const { done, value } = await pieces.next();
    if (done) return text;
    text += value;
  }
  return Readable.from(resumed(text, pieces), { highWaterMark: 1 }); // none is read before it is asked for
}

async function* resumed(begun: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield begun;
  yield* rest;
}

/** The answer page by page: a thousand datasets may have a million columns. */
async function* datasetsJson(context: Context): AsyncGenerator<string> {
  let before = '{"datasets":[';
  for await (const page of pagesOf((asked) => datasetsAfter(context, asked))) {
    if (page.length === 0) continue;
    const shown = page.map(({ slug, name, columns }) => ({ slug, name, columns: columns.map(shownColumn) }));
    yield before + JSON.stringify(shown).slice(1, -1);
    before = ",";
  }
  yield before === "," ? "]}" : `${before}]}`;
}

/** The answer piece by piece: a dataset of any size goes out without ever standing in memory as a whole. */
async function* datasetJson(context: Context, head: DatasetHead): AsyncGenerator<string> {
  const { slug, name, columns } = head;
  const omitted = new Set<string>();
  let before = `{"dataset":${JSON.stringify({ slug, name, columns: columns.map(shownColumn) }).slice(0, -1)},"rows":[`;
  for await (const piece of allDatasetRowTexts(context, head)) {
    for (const column of piece.omitted) omitted.add(column);
    yield before + piece.texts.join(",");
    before = ",";
  }
  if (before !== ",") yield before; // there was no row
  const warning = omittedOnRead(omitted);
  yield `]}${warning === null ? "" : `,"warning":${JSON.stringify(warning)}`}}`;
}

/** A column without the key under which rows keep its values, which concerns nobody outside. */
function shownColumn({ name, type }: Column) {
  return { name, type };
}
