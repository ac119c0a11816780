import { Link } from "@tanstack/react-router";
import { buttonClass } from "./Button.tsx";
import styles from "./Pager.module.css";

interface Props {
  after: string | undefined;
  pageInfo: { hasNextPage: boolean; endCursor?: string | null };
  /** What the links say, in lists that are not in the order of their names. */
  words?: { first: string; next: string };
}

const PAGES = { first: "First page", next: "Next page" };

/** What leads on in a long list, and back to its beginning; the page is the part `after` of the address. */
export function PageLinks({ after, pageInfo, words = PAGES }: Props) {
  const { hasNextPage, endCursor } = pageInfo;
  if (!after && !hasNextPage) return null;
  return (
    <nav className={styles.pager} aria-label="Pages">
      {after && (
        <Link to="." search={(now) => ({ ...now, after: undefined })} className={buttonClass()}>
          {words.first}
        </Link>
      )}
      {hasNextPage && (
        <Link to="." search={(now) => ({ ...now, after: endCursor ?? undefined })} className={buttonClass()}>
          {words.next}
        </Link>
      )}
    </nav>
  );
}
