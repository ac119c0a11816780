import { argumentsOf, builder } from "../graphql/builder.ts";
import { findsNode, Node } from "../graphql/nodes.ts";
import { fileInput } from "./inputs.ts";
import { type CompleteFile, downloadUrl, file, findFileById } from "./resolvers.ts";

const File = builder.objectRef<CompleteFile>("File").implement({
  description: "A file that rows of datasets name by its key.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID." }),
    key: t.exposeString("key", { description: "The key, which is the value in the rows." }),
    name: t.exposeString("name", { description: "The name that it had when it was uploaded." }),
    contentType: t.exposeString("contentType", { description: "The media type, such as `image/jpeg`." }),
    sizeBytes: t.exposeInt("sizeBytes", { description: "The length in bytes." }),
    createdAt: t.expose("createdAt", { type: "DateTime", description: "When the file was announced." }),
    downloadUrl: t.string({
      description:
        "Where anybody may download the file during the next 15 minutes, without a token. An error `BAD_REQUEST` when the header `Host` of the request is no valid host.",
      resolve: (parent, _, context) => downloadUrl(context, parent),
    }),
  }),
});

findsNode(File, "read", { find: findFileById });

builder.queryField("file", (t) =>
  t.field({
    type: File,
    nullable: true,
    description:
      "The file with that key; an error `FILE_NOT_FOUND` when there is none, or its content was not uploaded.",
    args: argumentsOf(t, fileInput),
    resolve: (_, args, context) => file(context, args),
  }),
);
