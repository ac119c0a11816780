import type { ComponentProps } from "react";
import styles from "./Button.module.css";
import { Icon, type IconName } from "./Icon.tsx";

type Kind = "plain" | "primary" | "quiet" | "danger";

interface Look {
  kind?: Kind;
  icon?: IconName;
  /** As high as a line of text, such as in a table. */
  size?: "small";
}

/** The class of what looks like a button, such as a link that leads to an action. */
export function buttonClass(kind: Kind = "plain", more = ""): string {
  return [styles.button, kind === "plain" ? "" : styles[kind], more].filter(Boolean).join(" ");
}

export function Button({
  kind,
  icon,
  size,
  children,
  type = "button",
  ...more
}: Look & ComponentProps<"button">) {
  return (
    <button type={type} className={buttonClass(kind, size && styles.small)} {...more}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button of an icon alone, with its name for those who cannot see it. */
export function IconButton({
  icon,
  label,
  kind = "quiet",
  size,
  ...more
}: Look & { icon: IconName; label: string } & ComponentProps<"button">) {
  return (
    <button
      type="button"
      className={buttonClass(kind, size ? `${styles.icon} ${styles[size]}` : styles.icon)}
      aria-label={label}
      title={label}
      {...more}
    >
      <Icon name={icon} />
    </button>
  );
}
