import type { Importer } from "./entries.ts";

interface Product {
  /** Its name, for people. */
  title: string;
  /** What its files are, to follow "FILE or folder with". */
  files: string;
  /** Loaded when it is named. */
  load: () => Promise<Importer>;
}

/** The products whose exports Gabbro reads. */
export const products = {
  langfuse: {
    title: "Langfuse",
    files: "prompts, datasets, traces, observations and scores as JSON or JSON Lines",
    load: async () => (await import("./langfuse.ts")).langfuse,
  },
  otlp: {
    title: "the OpenTelemetry Collector",
    files: "traces that its file exporter wrote as JSON",
    load: async () => (await import("./otlp.ts")).otlp,
  },
  phoenix: {
    title: "Phoenix",
    files: "its SQLite file, phoenix.db",
    load: async () => (await import("./phoenix.ts")).phoenix,
  },
  braintrust: {
    title: "Braintrust",
    files: "prompts, datasets, logs and experiments as JSON or JSON Lines",
    load: async () => (await import("./braintrust.ts")).braintrust,
  },
  langsmith: {
    title: "LangSmith",
    files: "commits of prompts, examples of datasets and runs as JSON or JSON Lines",
    load: async () => (await import("./langsmith.ts")).langsmith,
  },
  promptlayer: {
    title: "PromptLayer",
    files: "prompt templates as JSON or JSON Lines",
    load: async () => (await import("./promptLayer.ts")).promptLayer,
  },
  basalt: {
    title: "Basalt",
    files: "answers of its public API, as JSON or JSON Lines",
    load: async () => (await import("./basalt.ts")).basalt,
  },
} satisfies Record<string, Product>;

export type ProductName = keyof typeof products;
