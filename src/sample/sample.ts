import { newId } from "../database/ids.ts";
import type { Database } from "../database/open.ts";
import { refuseDuplicates } from "../database/retry.ts";
import type { Column } from "../datasets/entities.ts";
import { contextWithoutToken } from "../workspaces/resolvers.ts";
import { countries } from "./countries.ts";
import { addSampleMonth } from "./month.ts";
import { prompts, type SamplePrompt } from "./prompts.ts";
import { addSampleTraces, DAY_MS } from "./traces.ts";

export const SAMPLE_DATASET = "country-quiz";
export const SAMPLE_DATASET_NAME = "Country quiz";

type Rows = Parameters<Database["commit"]>[0];

const columns: Column[] = [
  { name: "question", type: "text" },
  { name: "flag", type: "image" },
  { name: "facts", type: "json" },
];

/** The rows of the sample: the dataset `country-quiz`, the prompt `country-guide` and the draft `flag-describer`. */
export function sampleRows(workspaceId: string): Rows {
  return [...datasetRows(workspaceId), ...prompts.flatMap((prompt) => promptRows(workspaceId, prompt))];
}

/** Adds the sample to a workspace; CONFLICT when one of its slugs is taken. */
export async function addSample(database: Database, workspaceId: string): Promise<void> {
  await refuseDuplicates("The workspace has the sample already, or something else by one of its slugs.", () =>
    database.commit(sampleRows(workspaceId)),
  );
  await addSampleTraces(contextWithoutToken(database, workspaceId, "sample"), Date.now());
  await addSampleMonth(contextWithoutToken(database, workspaceId, "sample"), Date.now());
}

function datasetRows(workspaceId: string): Rows {
  const createdAt = new Date();
  const dataset = {
    id: newId(),
    workspace: workspaceId,
    slug: SAMPLE_DATASET,
    name: SAMPLE_DATASET_NAME,
    columns,
    columnsVersion: 1,
    createdAt,
  };
  return [
    ["Dataset", dataset],
    ...countries.map(({ name, code, capital, currency, flag }, index): Rows[number] => {
      const kind = questions[index % questions.length]!;
      const values = { question: kind.question, flag, facts: { country: name, code, capital, currency } };
      const idealOutput = kind.answer({ name, capital, currency });
      const metadata = { kind: kind.name };
      return [
        "DatasetRow",
        {
          id: newId(),
          workspace: workspaceId,
          dataset: dataset.id,
          version: dataset.columnsVersion,
          name: code,
          values,
          idealOutput,
          metadata,
          createdAt,
        },
      ];
    }),
  ];
}

const questions = [
  {
    name: "country",
    question: "Which country has this flag?",
    answer: ({ name }: Country) => `It is the flag of ${name}.`,
  },
  {
    name: "capital",
    question: "What is the capital of the country with this flag?",
    answer: ({ name, capital }: Country) => `The capital of ${name} is ${capital}.`,
  },
  {
    name: "currency",
    question:
      "Which currency does one pay with in the country with this flag? Answer with its ISO 4217 code.",
    answer: ({ currency }: Country) => currency,
  },
];

interface Country {
  name: string;
  capital: string;
  currency: string;
}

function promptRows(workspaceId: string, { versions, moves, ...head }: SamplePrompt): Rows {
  const timeOf = ({ ago }: { ago: number }) => new Date(Date.now() - ago * DAY_MS);
  const createdAt = timeOf(versions[0]!);
  const prompt = { ...head, id: newId(), workspace: workspaceId, createdAt };
  const own = () => ({ id: newId(), workspace: workspaceId, prompt: prompt.id });
  const versionRows = versions.map(({ ago, ...version }) => ({
    ...version,
    ...own(),
    createdAt: timeOf({ ago }),
  }));
  const moveRows = moves.map(({ label, to, ago }, n) => {
    const from = moves.slice(0, n).findLast((move) => move.label === label)?.to ?? null;
    return { ...own(), label, from, to, tokenName: "sample", createdAt: timeOf({ ago }) };
  });
  const tagRows = [...new Map(moveRows.map((move) => [move.label, move])).values()].map(
    ({ label, to, createdAt: movedAt }) => ({
      ...own(),
      label,
      version: versionRows.find(({ version }) => version === to)!.id,
      createdAt: movedAt,
    }),
  );
  return [
    ["Prompt", prompt],
    ...versionRows.map((version): Rows[number] => ["PromptVersion", version]),
    ...tagRows.map((tag): Rows[number] => ["PromptTag", tag]),
    ...moveRows.map((move): Rows[number] => ["PromptTagMove", move]),
  ];
}
