import type { Model, Variable } from "../prompts/entities.ts";

export interface SamplePrompt {
  slug: string;
  name: string;
  description: string;
  /** Oldest first. */
  versions: {
    version: string;
    /** How many days ago it was made. */
    ago: number;
    text: string;
    systemText: string | null;
    model: Model;
    variables: Variable[];
  }[];
  /** The moves of the tags, oldest first; the last one of a tag says what it points to. */
  moves: { label: string; to: string; ago: number }[];
}

/** How many days ago `country-guide` was published in version 1.1.0, and tried out in version 2.0.0. */
export const [PUBLISHED, TRIED] = [18, 6];

const country: Variable = {
  label: "country",
  type: "string",
  description: "The country that the question is about.",
};
const question: Variable = {
  label: "question",
  type: "string",
  description: "What the traveller wants to know.",
};
const audience: Variable = {
  label: "audience",
  type: "string",
  description: "Who reads the answer, such as children.",
};

function model(provider: string, name: string, parameters: Record<string, unknown>): Model {
  return { provider, client: null, model: name, version: null, parameters };
}

export const prompts: SamplePrompt[] = [
  {
    slug: "country-guide",
    name: "Country guide",
    description: "Answers a traveller's question about a country.",
    versions: [
      {
        version: "1.0.0",
        ago: 41,
        text: "Answer this question about {{country}}: {{question}}",
        systemText: null,
        model: model("openai", "gpt-4o-mini", { temperature: 0.7 }),
        variables: [country, question],
      },
      {
        version: "1.1.0",
        ago: PUBLISHED + 2,
        text: "Country: {{country}}\nQuestion: {{question}}",
        systemText: "You are a travel guide. Answer in one sentence. When you are not sure, say so.",
        model: model("openai", "gpt-4o-mini", { temperature: 0.2 }),
        variables: [country, question],
      },
      {
        version: "2.0.0",
        ago: TRIED,
        text: "Country: {{country}}\nQuestion: {{question}}\nWrite for {{audience}}.",
        systemText: "You are a travel guide. Answer in one sentence. When you are not sure, say so.",
        model: model("openai", "gpt-5-mini", {}),
        variables: [country, question, audience],
      },
    ],
    moves: [
      { label: "production", to: "1.0.0", ago: 40 },
      { label: "production", to: "1.1.0", ago: PUBLISHED },
      { label: "staging", to: "2.0.0", ago: TRIED },
    ],
  },
  {
    slug: "flag-describer",
    name: "Flag describer",
    description: "Describes a flag in words, for people who cannot see it.",
    versions: [
      {
        version: "0.1.0",
        ago: 33,
        text: "Describe this flag in two sentences: {{flag}}",
        systemText: null,
        model: model("anthropic", "claude-sonnet-4-5", { max_tokens: 200 }),
        variables: [{ label: "flag", type: "image", description: "A picture of the flag." }],
      },
    ],
    moves: [],
  },
];
