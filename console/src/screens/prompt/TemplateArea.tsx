import { useEffect, useId, useState } from "react";
import { TemplatePieces } from "../../parts/CodeText.tsx";
import field from "../../parts/Field.module.css";
import { useSettled } from "../../parts/useSettled.ts";
import styles from "./TemplateArea.module.css";

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: string;
  isRequired?: boolean;
}

/** A template to edit, with its variables marked and what is wrong with it, while it is typed. */
export function TemplateArea({ label, value, onChange, hint, isRequired = false }: Props) {
  const id = useId();
  const problem = useProblem(value);
  return (
    <div className={field.field}>
      <label className={field.label} htmlFor={id}>
        {label}
      </label>
      <div className={styles.sheet} data-wrong={problem !== null || undefined}>
        <textarea
          id={id}
          spellCheck={false}
          required={isRequired}
          aria-invalid={problem !== null}
          aria-describedby={`${id}-hint`}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
        <pre aria-hidden="true">
          <TemplatePieces text={value} />
          {"\n"}
        </pre>
      </div>
      <span className={problem ? styles.problem : field.hint} id={`${id}-hint`} aria-live="polite">
        {problem ?? hint}
      </span>
    </div>
  );
}

/** The parser is loaded with the first template that is edited. */
function useProblem(text: string): string | null {
  const settled = useSettled(text);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let isOld = false;
    import("./templateProblem.ts")
      .then(({ problemOf }) => isOld || setProblem(problemOf(settled)))
      .catch(() => {}); // the server says it, too
    return () => {
      isOld = true;
    };
  }, [settled]);
  return problem;
}
