import { useNavigate, useRouter } from "@tanstack/react-router";
import { useCallback, useEffect, useRef } from "react";
import { places } from "./places.ts";

const SEQUENCE_MS = 1_000;
const MAX_VISITS = 100;

interface Keys {
  onPalette: () => void;
  onHelp: () => void;
}

/** The keys that work on every screen. They are listed in KeysDialog. */
export function useKeys({ onPalette, onHelp }: Keys): void {
  const navigate = useNavigate();
  const openedRow = useOpenedRow();
  useEffect(() => {
    let goUntilMs = 0;
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        return onPalette();
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const place = places.find(({ key }) => key === event.key);
      if (place && performance.now() < goUntilMs) {
        goUntilMs = 0;
        return void navigate({ to: place.to });
      }
      if (event.key === "g") goUntilMs = performance.now() + SEQUENCE_MS;
      else if (event.key === "?") onHelp();
      else if (event.key === "/") focusSearch(event);
      else if (event.key === "j") moveInList(1, openedRow());
      else if (event.key === "k") moveInList(-1, openedRow());
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [navigate, openedRow, onPalette, onHelp]);
}

/**
 * Gives the link of the row that was last opened on this visit of the screen. Visits are told apart by their entry in the
 * history, as for scrolling: who comes back finds the row, and a new visit starts at the top.
 */
function useOpenedRow(): () => string | undefined {
  const router = useRouter();
  const rows = useRef(new Map<string | undefined, string>());
  const entry = useCallback(() => router.latestLocation.state.__TSR_key, [router]);
  useEffect(() => {
    const onClick = ({ target }: MouseEvent) => {
      const href = target instanceof Element && hrefOf(target.closest("main tbody tr"));
      if (!href) return;
      rows.current.set(entry(), href);
      if (rows.current.size > MAX_VISITS) rows.current.delete(rows.current.keys().next().value);
    };
    addEventListener("click", onClick, true); // before the click leads to another entry
    return () => removeEventListener("click", onClick, true);
  }, [entry]);
  return useCallback(() => rows.current.get(entry()), [entry]);
}

/** Whether keys belong to what has the focus, such as a field. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof Element && target.closest("input, textarea, select, dialog, [contenteditable]") !== null
  );
}

function focusSearch(event: KeyboardEvent): void {
  const field = document.querySelector<HTMLInputElement>("[data-search]");
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
}

/**
 * Focuses the first link or button of the next or the previous row of the list; Enter then opens it. Where no row has the
 * focus, it goes on from the one that was opened.
 */
function moveInList(step: 1 | -1, opened: string | undefined): void {
  const rows = [...document.querySelectorAll("main tbody tr")].filter((row) => row.querySelector(FIRST));
  const focused = rows.findIndex((row) => row.contains(document.activeElement));
  const at = focused === -1 && opened ? rows.findIndex((row) => hrefOf(row) === opened) : focused;
  const next = at === -1 ? (step === 1 ? 0 : rows.length - 1) : at + step;
  rows[next]?.querySelector<HTMLElement>(FIRST)?.focus();
}

const FIRST = "a, button:not(:disabled)";

const hrefOf = (row: Element | null) => row?.querySelector("a")?.href;
