import { getRouteApi, Link, Outlet, useRouterState } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { Provider } from "urql";
import icon from "../design/icon.svg";
import { buttonClass, IconButton } from "../parts/Button.tsx";
import { Icon } from "../parts/Icon.tsx";
import type { Session } from "../session.ts";
import { shownQueriesInGraphiql } from "../shownQueries.ts";
import { KeysDialog } from "./KeysDialog.tsx";
import { Palette } from "./Palette.tsx";
import { placesOf } from "./places.ts";
import styles from "./Shell.module.css";
import { useKeys } from "./useKeys.ts";
import { useScrollRestoring } from "./useScrollRestoring.ts";
import { useSignOut } from "./useSignOut.ts";

const route = getRouteApi("/shell");

/** Around every screen: the navigation, the palette, the keys, and the client that belongs to the session. */
export function Shell() {
  const { session, client } = route.useRouteContext();
  const [open, setOpen] = useState<"menu" | "palette" | "keys" | null>(null);
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another screen closes what lay over this one
  useEffect(() => setOpen(null), [pathname]);
  useScrollRestoring();
  useKeys({ onPalette: () => setOpen("palette"), onHelp: () => setOpen("keys") });
  return (
    <Provider value={client}>
      <div className={styles.shell}>
        <a className={styles.skip} href="#content">
          Skip to the content
        </a>
        <header className={styles.top}>
          <IconButton icon="menu" label="Menu" onClick={() => setOpen("menu")} />
          <Brand />
          <IconButton icon="search" label="Search and commands" onClick={() => setOpen("palette")} />
        </header>
        {open === "menu" && (
          <button
            type="button"
            className={styles.veil}
            aria-label="Close the menu"
            onClick={() => setOpen(null)}
          />
        )}
        <aside className={styles.side} data-open={open === "menu" || undefined}>
          <Brand workspace={session.workspace} />
          <button
            type="button"
            className={buttonClass("plain", styles.find)}
            onClick={() => setOpen("palette")}
          >
            <Icon name="search" />
            Search
            <kbd>{isMac ? "⌘" : "Ctrl"} K</kbd>
          </button>
          <Navigation session={session} />
          <Me session={session} />
        </aside>
        <div className={styles.screen}>
          <Outlet />
        </div>
        {open === "palette" && <Palette session={session} onClose={() => setOpen(null)} />}
        {open === "keys" && <KeysDialog onClose={() => setOpen(null)} />}
      </div>
    </Provider>
  );
}

const isMac = navigator.userAgent.includes("Mac");

function Brand({ workspace }: { workspace?: string }) {
  return (
    <div className={styles.brand}>
      <img src={icon} alt="" width="22" height="22" />
      Gabbro
      {workspace && <span className={styles.workspace}>{workspace}</span>}
    </div>
  );
}

function Navigation({ session }: { session: Session }) {
  return (
    <nav className={styles.places} aria-label="Screens">
      {placesOf(session).map(({ to, name, icon: drawing }) => (
        <Link key={to} to={to} className={styles.place} activeOptions={{ includeSearch: false }}>
          <Icon name={drawing} />
          {name}
        </Link>
      ))}
    </nav>
  );
}

function Me({ session }: { session: Session }) {
  const signOut = useSignOut();
  return (
    <div className={styles.me}>
      <div className={styles.who}>
        <div title="The access token of this session">{session.tokenName}</div>
        <div>{session.scopes.join(", ")}</div>
      </div>
      <IconButton
        icon="query"
        label="Open the queries of this screen in GraphiQL"
        onClick={() => window.open(shownQueriesInGraphiql(), "_blank", "noopener")}
      />
      <IconButton icon="leave" label="Sign out" onClick={signOut} />
    </div>
  );
}
