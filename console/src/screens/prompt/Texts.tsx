import { useData } from "../../data.ts";
import { Template } from "../../parts/CodeText.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Time } from "../../parts/Time.tsx";
import styles from "./Prompt.module.css";
import { type Version, VersionTexts } from "./queries.ts";
import { TryOut } from "./TryOut.tsx";
import { VersionUsage } from "./VersionUsage.tsx";

/** What a version says, and what it becomes with its variables filled in. */
export function Texts({ slug, version }: { slug: string; version: string }) {
  const result = useData(VersionTexts, { slug, version }, { isFixed: true });
  return (
    <Loaded result={result}>
      {({ describePrompt }) =>
        describePrompt?.promptVersion && (
          <div className={styles.texts}>
            <div className={styles.stack}>
              <VersionText version={describePrompt.promptVersion} />
              <Facts version={describePrompt.promptVersion} />
              <VersionUsage slug={slug} version={version} />
            </div>
            <TryOut key={version} slug={slug} version={describePrompt.promptVersion} />
          </div>
        )
      }
    </Loaded>
  );
}

function VersionText({ version: { messages, systemText, text } }: { version: Version }) {
  if (messages)
    return messages.map(({ role, name, content, placeholder }, n) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the place of a message is its identity
      <section key={n}>
        <h2>{placeholder ? `Messages “${placeholder}”` : [role, name].filter(Boolean).join(" · ")}</h2>
        <Template text={placeholder ? "The application inserts messages here." : (content ?? "")} />
      </section>
    ));
  return (
    <>
      {systemText && (
        <section>
          <h2>System</h2>
          <Template text={systemText} />
        </section>
      )}
      <section>
        <h2>Text</h2>
        <Template text={text} />
      </section>
    </>
  );
}

function Facts({ version: { model, createdAt } }: { version: Version }) {
  const parameters = Object.entries(model?.parameters ?? {});
  return (
    <dl className={styles.facts}>
      <div>
        <dt>Made</dt>
        <dd>
          <Time at={createdAt} as="clock" />
        </dd>
      </div>
      {model && (
        <div>
          <dt>Model</dt>
          <dd>{[model.provider, model.model].filter(Boolean).join(" / ")}</dd>
        </div>
      )}
      {parameters.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <code>{JSON.stringify(value)}</code>
          </dd>
        </div>
      ))}
    </dl>
  );
}
