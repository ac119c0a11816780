import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { places } from "./places.ts";

const SEQUENCE_MS = 1_000;

interface Keys {
  onPalette: () => void;
  onHelp: () => void;
}

/** The keys that work on every screen. They are listed in KeysDialog. */
export function useKeys({ onPalette, onHelp }: Keys): void {
  const navigate = useNavigate();
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
      else if (event.key === "j") moveInList(1);
      else if (event.key === "k") moveInList(-1);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [navigate, onPalette, onHelp]);
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

/** Focuses the first link or button of the next or the previous row of the list; Enter then opens it. */
function moveInList(step: 1 | -1): void {
  const rows = [...document.querySelectorAll("main tbody tr")].filter((row) => row.querySelector(FIRST));
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = at === -1 ? (step === 1 ? 0 : rows.length - 1) : at + step;
  rows[next]?.querySelector<HTMLElement>(FIRST)?.focus();
}

const FIRST = "a, button:not(:disabled)";
