import type { DatasetRowInput } from "../datasets/inputs.ts";

/** Where something stands in the files of another product. */
export interface Place {
  file: string;
  line: number;
}

/** Something that cannot be imported; the reason ends a sentence that begins with its place. */
export interface Refused extends Place {
  kind: "refused";
  reason: string;
}

/** Something that Gabbro has no place for, such as `commit messages`. Its entry is imported without it. */
export interface LeftOut {
  kind: "leftOut";
  what: string;
}

/** A version of a prompt, in the form of `createPromptVersion`, not validated yet. */
export interface ImportedVersion extends Place {
  version: string;
  text?: string;
  systemText?: string;
  messages?: unknown[];
  model?: unknown;
  variables?: { label: string; type?: string; description?: string }[];
}

/** A prompt with its versions, the oldest first. */
export interface ImportedPrompt extends Place {
  kind: "prompt";
  slug: string;
  name: string;
  description?: string;
  versions: ImportedVersion[];
  /** The version that each tag points to. */
  tags: [tag: string, version: string][];
}

/** A dataset, which is created when it is missing, also without rows. */
export interface ImportedDataset extends Place {
  kind: "dataset";
  slug: string;
  name: string;
  columns?: { name: string; type: "text" | "image" | "file" | "json" }[];
}

/** A row of a dataset. Its key is the source's id, so that it is never stored twice. */
export interface ImportedItem extends Place {
  kind: "item";
  dataset: { slug: string; name: string };
  row: Omit<DatasetRowInput, "name" | "idealOutput" | "metadata"> &
    Partial<Pick<DatasetRowInput, "name" | "idealOutput" | "metadata">>;
}

/** Spans in the JSON of OpenTelemetry. */
export interface ImportedSpans extends Place {
  kind: "spans";
  json: string;
}

export type Entry = Refused | LeftOut | ImportedPrompt | ImportedDataset | ImportedItem | ImportedSpans;

/** Reads what a product exports. */
export type Importer = (path: string, onRead: (bytes: number) => void) => AsyncIterable<Entry>;
