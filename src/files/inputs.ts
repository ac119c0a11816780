import { z } from "zod";
import { lookUpText, text } from "../validation/text.ts";

/** No larger than a body: proxies in front are set up for that. */
export const MAX_FILE_BYTES = 10 * 1024 * 1024;

const MAX_NAME_CHARACTERS = 255;
const MAX_MEDIA_TYPE_CHARACTERS = 255;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what it is about
const WITHOUT_CONTROL_CHARACTERS = /^[^\u0000-\u001f\u007f-\u009f]*$/;
const MEDIA_TYPE =
  /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:; ?[\w!#$&^.+-]+=(?:[\w!#$&^.+-]+|"[\w !#$&^.+:/=-]*"))*$/;

/** The name without the folders that some clients send before it. */
const baseName = (path: string) => path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);

const fileName = () =>
  text(MAX_NAME_CHARACTERS)
    .min(1)
    .regex(WITHOUT_CONTROL_CHARACTERS, { error: "must not have control characters" })
    .refine((name) => name === "" || !["", ".", ".."].includes(baseName(name)), {
      error: "must end with the name of a file",
    })
    .transform(baseName);

const mediaType = () =>
  text(MAX_MEDIA_TYPE_CHARACTERS).regex(MEDIA_TYPE, { error: "must be a media type, such as image/jpeg" });

export const generateUploadUrlInput = z
  .object({
    fileName: fileName().describe("The name of the file. Folders before it are left out."),
    contentType: mediaType().describe("The media type, which the upload must have as its `Content-Type`."),
    sizeBytes: z
      .int()
      .min(1)
      .max(MAX_FILE_BYTES)
      .nullish()
      .describe("The length of the file in bytes. When it is given, the upload must have this length."),
  })
  .meta({
    id: "FileAnnouncement",
    description: "A file to upload.",
    example: { fileName: "nairobi.jpg", contentType: "image/jpeg", sizeBytes: 48_213 },
  });
export type GenerateUploadUrlInput = z.output<typeof generateUploadUrlInput>;

export const fileInput = z.object({ key: lookUpText().describe("The key of the file.") });
export type FileInput = z.output<typeof fileInput>;

/** Not by their form: a URL that Gabbro did not sign is refused as such. */
export const signedFileParams = z.object({
  workspaceId: z.string().describe("The workspace, as in the signed URL."),
  name: z.string().describe("The last part of the key, as in the signed URL."),
});

export const signedFileQuery = z.object({
  expires: z.string().describe("When the URL expires, as in the signed URL."),
  signature: z.string().describe("The signature, as in the signed URL."),
});
