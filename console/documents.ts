import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { preset } from "@graphql-codegen/client-preset";
import { codegen } from "@graphql-codegen/core";
import { buildSchema, Kind, parse, Source } from "graphql";

/**
 * Writes `src/gql/`: the types of every operation and fragment that the sources contain. Fails when one of them does not
 * fit the schema of Gabbro.
 */
const folder = new URL("./src/", import.meta.url).pathname;
const schemaText = await readFile(new URL("../schema.graphql", import.meta.url), "utf8");
const output = join(folder, "gql/");

const files = (await readdir(folder, { recursive: true })).filter(
  (path) => /\.tsx?$/.test(path) && !path.startsWith("gql/"),
);
const documents = await Promise.all(
  files.toSorted().map(async (path) => {
    const text = await readFile(join(folder, path), "utf8");
    const operations = [...text.matchAll(/\bgraphql\(`([^`]*)`\)/g)].map(([, operation]) => operation!);
    return operations.map((rawSDL) => ({
      location: path,
      rawSDL,
      document: parse(new Source(rawSDL, path)),
    }));
  }),
);
const schema = buildSchema(schemaText);
const options = {
  schema: parse(schemaText),
  schemaAst: schema,
  documents: documents.flat(),
  baseOutputDir: output,
  config: {
    scalars: { DateTime: "string", JSON: "unknown", JSONObject: "Record<string, unknown>" },
    enumsAsTypes: true,
    useTypeImports: true,
    documentMode: "string",
  },
  presetConfig: { fragmentMasking: { unmaskFunctionName: "readFragment" } },
  plugins: [],
  pluginMap: {},
};
const parts = await preset.buildGeneratesSection(options as never);
for (const part of parts) {
  const content = await codegen({ ...part, documents: part.documents ?? [] });
  await mkdir(dirname(part.filename), { recursive: true });
  const written = `${part.filename}.${process.pid}`; // a build in another process reads whole files
  await writeFile(written, content);
  await rename(written, part.filename);
}
const operations = documents.flat().flatMap(({ document }) => document.definitions);
const count = operations.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION).length;
console.log(`${count} operations fit the schema.`);
