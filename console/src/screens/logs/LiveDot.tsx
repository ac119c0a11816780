import styles from "./Logs.module.css";

export function LiveDot({ isLive }: { isLive: boolean }) {
  return <span className={isLive ? `${styles.dot} ${styles.live}` : styles.dot} aria-hidden="true" />;
}
