import type { ReactNode } from "react";
import styles from "./Facts.module.css";

export interface Fact {
  name: string;
  value: ReactNode;
}

/** Names with their values, beside each other as far as there is room. */
export function Facts({ facts }: { facts: Fact[] }) {
  return (
    <dl className={styles.facts}>
      {facts.map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
