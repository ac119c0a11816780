import type { IconName } from "../parts/Icon.tsx";
import type { Session } from "../session.ts";

interface Place {
  to: string;
  name: string;
  icon: IconName;
  /** The second key after `g`. */
  key: string;
  needs?: Session["scopes"][number];
}

/** What the navigation and the palette list, in this order. */
export const places = [
  { to: "/overview", name: "Overview", icon: "overview", key: "o" },
  { to: "/prompts", name: "Prompts", icon: "prompts", key: "p" },
  { to: "/datasets", name: "Datasets", icon: "datasets", key: "d" },
  { to: "/logs", name: "Logs", icon: "logs", key: "l" },
  { to: "/traces", name: "Traces", icon: "traces", key: "c" },
  { to: "/usage", name: "Usage", icon: "usage", key: "u" },
  { to: "/prices", name: "Prices", icon: "prices", key: "r" },
  { to: "/tokens", name: "Tokens", icon: "tokens", key: "t", needs: "admin" },
  { to: "/audit", name: "Audit log", icon: "audit", key: "a", needs: "admin" },
  { to: "/settings", name: "Settings", icon: "settings", key: "s", needs: "admin" },
] as const satisfies Place[];

/** The places that the scopes of the session allow. */
export const placesOf = ({ scopes }: Session) =>
  places.filter(({ needs }: Place) => needs === undefined || scopes.includes(needs));
