import type { ReportedType } from "../reported.ts";
import type { OtlpSpan } from "./span.ts";

/** A field of a log or its trace. The first source that holds a value which `accept` takes gives it. */
export interface Field<T> {
  from: readonly Source[];
  /** Returns undefined for what is not of the field's kind. */
  accept(value: unknown, source: Source, span: OtlpSpan): T | undefined;
}

/** Where a field may come from. `for` limits a source to some spans. */
export type Source = (
  | AttributeSource
  /** An attribute of the program that sent the span. */
  | { resource: string }
  /** A member of an attribute that holds a JSON object; a dot leads to a member of a member. */
  | { attribute: string; member: string; isDisjoint?: true }
  /** A list that was flattened: `<list>.0.role`, `<list>.0.content`, `<list>.1.role`. */
  | { list: string }
  /** An object that was flattened: every attribute whose key begins with this. */
  | { below: string }
  /** System instructions before the messages of the conversation. */
  | { instructions: string; messages: string }
  /** Attributes that are parts of one value. One that stands alone is the value. */
  | { parts: Record<string, string> }
  /** Events of these names, each of which is a message. */
  | { events: readonly string[] }
  /** An attribute of the first event of a name. */
  | { event: string; attribute: string }
) & { for?: SpanCondition };

export interface AttributeSource {
  attribute: string;
  /**
   * Which texts are JSON beside those that hold an object or a list. `quoted`: those in quotation marks. `always`: all.
   * `basalt`: all, if Basalt's SDK for JavaScript sent them.
   */
  json?: "quoted" | "always" | "basalt";
  /** The unit of a duration; `time` is the time at which it ends. Milliseconds if absent. */
  unit?: "seconds" | "time";
  /** What stands before this text's first dot is the value. */
  beforeDot?: true;
}

/** Which spans a source is for. `outer` excludes the AI SDK's spans of single calls below its spans of operations. */
export type SpanCondition = "root" | "agent" | "tool" | "function" | "modelCall" | "outer";

/** Where a type may come from: a word, or that an attribute is there at all. */
export type TypeSource = { word: string } | { present: string; type: ReportedType };

/** The attributes that together name the version of a prompt. */
export interface PromptSource {
  slug: string;
  version: string;
  tag?: string;
}
