import { type ReactNode, useEffect } from "react";
import styles from "./Page.module.css";

interface Props {
  title: string;
  /** The title as it is shown, where it is more than text. */
  heading?: ReactNode;
  about?: ReactNode;
  back?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** A screen: its title, what can be done with it, and its content. */
export function Page({ title, heading = title, about, back, actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Gabbro`;
  }, [title]);
  return (
    <main className={styles.page} id="content">
      <header className={styles.head}>
        <div className={styles.titles}>
          {back && <nav className={styles.back}>{back}</nav>}
          <h1>{heading}</h1>
          {about && <p className={styles.about}>{about}</p>}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </main>
  );
}

export function Card({ title, children }: { title?: string; children: ReactNode }) {
  return (
    <section className={styles.card} aria-label={title}>
      {title && <h2>{title}</h2>}
      {children}
    </section>
  );
}
