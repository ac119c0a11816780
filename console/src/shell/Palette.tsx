import { useNavigate } from "@tanstack/react-router";
import { useDeferredValue, useState } from "react";
import { useData } from "../data.ts";
import { graphql } from "../gql/index.ts";
import { Icon, type IconName } from "../parts/Icon.tsx";
import { useToast } from "../parts/Toast.tsx";
import { useModal } from "../parts/useModal.ts";
import type { Session } from "../session.ts";
import { shownQueriesAsCurl, shownQueriesInGraphiql } from "../shownQueries.ts";
import styles from "./Palette.module.css";
import { placesOf } from "./places.ts";
import { useSignOut } from "./useSignOut.ts";

const FindInPalette = graphql(`
  query FindInPalette($search: String!) {
    prompts(search: $search, first: 6) {
      nodes {
        slug
        name
      }
    }
    datasets(search: $search, first: 6) {
      nodes {
        slug
        name
      }
    }
  }
`);

interface Entry {
  key: string;
  icon: IconName;
  name: string;
  detail: string;
  run: () => void;
}

/** One field for going, searching and doing. */
export function Palette({ session, onClose }: { session: Session; onClose: () => void }) {
  const dialog = useModal();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const entries = useEntries(text.trim(), session);
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setChosen((at) => Math.max(0, Math.min(entries.length - 1, at + step)));
    else if (event.key === "Enter") run(entries[chosen]);
    else return;
    event.preventDefault();
  };
  const close = (event: React.MouseEvent) => event.target === dialog.current && onClose();
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it for the keyboard
    <dialog
      ref={dialog}
      className={styles.palette}
      aria-label="Search and commands"
      onClose={onClose}
      onClick={close}
    >
      <input
        className={styles.input}
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-entries"
        aria-activedescendant={entries[chosen] && `palette-${chosen}`}
        aria-label="Go to, search or do"
        placeholder="Go to, search or do…"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div className={styles.entries} id="palette-entries" role="listbox" aria-label="Entries">
        {entries.map((entry, n) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above moves by keys
          <div
            key={entry.key}
            id={`palette-${n}`}
            role="option"
            tabIndex={-1}
            aria-selected={n === chosen}
            className={styles.entry}
            ref={n === chosen ? scrollToIt : undefined}
            onMouseMove={() => setChosen(n)}
            onClick={() => run(entry)}
          >
            <Icon name={entry.icon} />
            <span className={styles.name}>{entry.name}</span>
            <span className={styles.detail}>{entry.detail}</span>
          </div>
        ))}
      </div>
      {entries.length === 0 && <p className={styles.none}>Nothing has that in its name.</p>}
    </dialog>
  );
}

const scrollToIt = (entry: HTMLElement | null) => entry?.scrollIntoView({ block: "nearest" });

function useEntries(text: string, session: Session): Entry[] {
  const navigate = useNavigate();
  const search = useDeferredValue(text);
  const { data } = useData(FindInPalette, { search }, { isPaused: search === "", isExact: true });
  const found = search === "" || search !== text ? undefined : data; // Enter opens no entry of an earlier text
  const going = placesOf(session).map(({ to, name, icon, key }) => ({
    key: to,
    icon,
    name,
    detail: `g ${key}`,
    run: () => void navigate({ to }),
  }));
  const doing = useActions();
  const fitting = [...going, ...doing].filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()));
  const prompts = (found?.prompts.nodes ?? []).map(
    ({ slug, name }): Entry => ({
      key: `prompt ${slug}`,
      icon: "prompts",
      name,
      detail: slug,
      run: () => void navigate({ to: "/prompts/$slug", params: { slug } }),
    }),
  );
  const datasets = (found?.datasets.nodes ?? []).map(
    ({ slug, name }): Entry => ({
      key: `dataset ${slug}`,
      icon: "datasets",
      name,
      detail: slug,
      run: () => void navigate({ to: "/datasets/$slug", params: { slug } }),
    }),
  );
  const logs: Entry[] =
    text === ""
      ? []
      : [
          {
            key: "logs",
            icon: "logs",
            name: `Logs with “${text}”`,
            detail: "full text",
            run: () => void navigate({ to: "/logs", search: { q: text } }),
          },
        ];
  return [...fitting, ...prompts, ...datasets, ...logs];
}

/** What the palette does, beside going somewhere. */
function useActions(): Entry[] {
  const navigate = useNavigate();
  const toast = useToast();
  const signOut = useSignOut();
  // Of the screen below, before the palette asks for anything.
  const [curl] = useState(shownQueriesAsCurl);
  const [graphiql] = useState(shownQueriesInGraphiql);
  return [
    {
      key: "new prompt",
      icon: "plus",
      name: "New prompt",
      detail: "",
      run: () => void navigate({ to: "/prompts", search: { dialog: "new" } }),
    },
    {
      key: "graphiql",
      icon: "query",
      name: "Open the queries of this screen in GraphiQL",
      detail: "",
      run: () => void window.open(graphiql, "_blank", "noopener"),
    },
    {
      key: "curl",
      icon: "copy",
      name: "Copy the queries of this screen as curl",
      detail: "",
      run: () => void navigator.clipboard.writeText(curl).then(() => toast("The queries are copied")),
    },
    { key: "sign out", icon: "leave", name: "Sign out", detail: "", run: signOut },
  ];
}
