import { useDeferredValue, useState } from "react";
import { useData } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { PlainText } from "../../parts/CodeText.tsx";
import { TextArea } from "../../parts/Field.tsx";
import { ErrorNotice, Warnings } from "../../parts/Notice.tsx";
import { Card } from "../../parts/Page.tsx";
import { useSettled } from "../../parts/useSettled.ts";
import styles from "./Prompt.module.css";
import type { Version } from "./queries.ts";

const Render = graphql(`
  query Render($slug: String!, $version: String!, $variables: [PromptVariableValue!]!) {
    renderPrompt(slug: $slug, version: $version, variables: $variables) {
      systemText
      text
      messages {
        role
        name
        content
      }
      warnings {
        code
        message
      }
    }
  }
`);

/** A field for each variable, and beside them what the model would get, while they are filled in. */
export function TryOut({ slug, version }: { slug: string; version: Version }) {
  const [values, setValues] = useState<ReadonlyMap<string, string>>(new Map());
  const settled = useSettled(useDeferredValue(values));
  const variables = version.variables
    .map(({ label }) => ({ label, value: settled.get(label) ?? "" }))
    .filter(({ value }) => value !== "");
  const call = { slug, version: version.version, variables };
  const { data, error, isStale, retry } = useData(Render, call, { isFixed: true });
  const rendered = data?.renderPrompt;
  // A form that is not filled in yet is no mistake.
  const warnings =
    rendered?.warnings.filter(({ code }) => code !== "VALUE_MISSING" || variables.length > 0) ?? [];
  return (
    <Card title="Try it">
      <div className={styles.stack}>
        {version.variables.map(({ label, description }) => (
          <TextArea
            key={label}
            label={label}
            hint={description}
            rows={1}
            value={values.get(label) ?? ""}
            onChange={(event) => setValues((now) => new Map(now).set(label, event.target.value))}
          />
        ))}
        {version.variables.length === 0 && <p>This version has no variables.</p>}
        {error && <ErrorNotice error={error} onRetry={retry} />}
        <Warnings warnings={warnings} />
        {rendered && (
          <div className={`${styles.stack} ${isStale ? styles.stale : ""}`} aria-live="polite">
            {rendered.messages
              ? rendered.messages.map(({ role, name, content }, n) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the place of a message is its identity
                  <section key={n}>
                    <h3>{[role, name].filter(Boolean).join(" · ")}</h3>
                    <PlainText text={content} />
                  </section>
                ))
              : [
                  ["System", rendered.systemText],
                  ["What the model gets", rendered.text],
                ].map(
                  ([title, text]) =>
                    text && (
                      <section key={title}>
                        <h3>{title}</h3>
                        <PlainText text={text} />
                      </section>
                    ),
                )}
          </div>
        )}
      </div>
    </Card>
  );
}
