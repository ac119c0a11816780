// Generates typed documents as a front end does with the client preset of GraphQL Code Generator.
// Reads { folder, schema, documents, scalars } as JSON from standard input.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { json } from "node:stream/consumers";
import { preset } from "@graphql-codegen/client-preset";
import { codegen } from "@graphql-codegen/core";
import { buildSchema, parse } from "graphql";

const { folder, schema, documents, scalars } = await json(process.stdin);

const sections = await preset.buildGeneratesSection({
  baseOutputDir: `${folder}/`,
  presetConfig: { fragmentMasking: false },
  schema: parse(schema),
  schemaAst: buildSchema(schema),
  config: { strictScalars: true, scalars },
  documents: documents.map((rawSDL, n) => ({ location: `${n}.graphql`, rawSDL, document: parse(rawSDL) })),
  plugins: [],
  pluginMap: {},
});

for (const section of sections) {
  await mkdir(dirname(section.filename), { recursive: true });
  await writeFile(join(section.filename), await codegen(section));
}
