import { Readable } from "node:stream";
import { create as contentDisposition } from "content-disposition";
import { z } from "zod";
import type { Context } from "../context.ts";
import type { Database } from "../database/open.ts";
import type { App, FastifyRequest } from "../http/app.ts";
import { disableDeadline } from "../limits/deadline.ts";
import { errorBody, errorResponses, errorResponsesToBody } from "../rest/errorResponses.ts";
import { fileContent, uploadFile } from "./contents.resolvers.ts";
import { generateUploadUrlInput, signedFileParams, signedFileQuery } from "./inputs.ts";
import { type FileHead, generateUploadUrl, getComplete, getSignedFile } from "./resolvers.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The file that the signed URL of the request names. */
    signedFile?: FileHead;
  }
}

export const generateUploadUrlAnswer = z
  .object({
    uploadUrl: z.string().describe("Where to send the bytes of the file by PUT, without a token."),
    fileKey: z.string().describe("The key of the file, for the values of rows."),
    expiresAt: z.string().describe("When the URL expires: after 15 minutes."),
    maxSizeBytes: z.int().describe("How many bytes the file may have."),
  })
  .describe("The URL for the upload.");

/** The routes of files that need a token. */
export function fileRoutes(app: App): void {
  app.route({
    method: "POST",
    url: "/files/generate-upload-url",
    onRequest: async (_, reply) => void reply.header("cache-control", "no-store"), // the URL is a secret
    schema: {
      operationId: "generateUploadUrl",
      summary: "Announce a file, to upload it for a row of a dataset",
      tags: ["files"],
      body: generateUploadUrlInput,
      response: { 200: generateUploadUrlAnswer, ...errorResponsesToBody },
    },
    handler: async ({ context, body }) => {
      const { expiresAt, ...answer } = await generateUploadUrl(context, body);
      return { ...answer, expiresAt: expiresAt.toISOString() };
    },
  });
}

interface Signed {
  database: Database;
  /** Creates the context of a request, which counts for a workspace. */
  contextOf(request: FastifyRequest, workspaceId: string): Context;
}

const { 401: _, ...errorResponsesToSigned } = errorResponses;
const signedResponses = {
  ...errorResponsesToSigned,
  403: errorBody.describe("The signature of the URL is wrong, or the URL has expired."),
};

/** The routes of signed URLs. Who has such a URL needs no token. */
export function signedFileRoutes(app: App, signed: Signed): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
  uploadRoute(app, signed);
  downloadRoute(app, signed);
}

/** As authentication does: the body of a request without a valid signature is not read. */
function checkSignature(purpose: "upload" | "download", { database, contextOf }: Signed) {
  return async (request: FastifyRequest) => {
    const { workspaceId, name } = request.params as z.output<typeof signedFileParams>;
    const query = request.query as Partial<z.output<typeof signedFileQuery>>;
    const file = await getSignedFile(database, purpose, { ...query, workspaceId, name });
    request.context = contextOf(request, file.workspace);
    request.signedFile = file;
  };
}

function uploadRoute(app: App, signed: Signed): void {
  app.route({
    method: "PUT",
    url: "/files/upload/datasets/:workspaceId/:name",
    onRequest: checkSignature("upload", signed),
    config: { streamsBody: true },
    schema: {
      operationId: "uploadFile",
      summary: "Upload an announced file",
      description:
        "The URL is the answer of `POST /files/generate-upload-url`. The `Content-Type` must be as announced. The same content may be sent again.",
      tags: ["files"],
      security: [],
      consumes: ["*/*"],
      params: signedFileParams,
      querystring: signedFileQuery,
      body: z.instanceof(Readable).meta({ type: "string", format: "binary" }),
      response: {
        200: z.object({}).describe("The file is stored."),
        ...signedResponses,
        409: errorBody.describe("The file has another content already."),
        413: errorBody.describe("The file is larger than 10 MB."),
        415: errorBody.describe("The `Content-Type` is not as announced."),
      },
    },
    handler: async ({ signedFile, headers, body }) => {
      const length = headers["content-length"];
      await uploadFile(signed.database, signedFile!, {
        contentType: headers["content-type"],
        sizeBytes: length === undefined ? undefined : Number(length),
        body,
      });
      return {};
    },
  });
}

function downloadRoute(app: App, signed: Signed): void {
  app.route({
    method: "GET",
    url: "/files/download/datasets/:workspaceId/:name",
    onRequest: checkSignature("download", signed),
    schema: {
      operationId: "downloadFile",
      summary: "Download a file",
      description: "The URL is that of `file(key) { downloadUrl }` in GraphQL.",
      tags: ["files"],
      security: [],
      params: signedFileParams,
      querystring: signedFileQuery,
      response: {
        200: {
          description: "The bytes of the file.",
          content: { "*/*": { schema: z.string().meta({ format: "binary" }) } },
        },
        ...signedResponses,
      },
    },
    handler: async ({ context, signedFile }, reply) => {
      const file = getComplete(signedFile!);
      disableDeadline(context); // a chunk at a time, as fast as the client reads
      // No length: a client that has all bytes could send its next request before this one is finished.
      reply.headers({
        "content-type": file.contentType,
        "content-disposition": contentDisposition(file.name),
        // A browser must neither run the file nor show it in the origin of this service.
        "content-security-policy": "sandbox; default-src 'none'",
        "cache-control": "private, no-store",
      });
      // The response type of a route describes its body and allows no stream.
      return reply.send(Readable.from(fileContent(signed.database, file), { highWaterMark: 1 }) as never);
    },
  });
}
