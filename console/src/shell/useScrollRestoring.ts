import { useRouter } from "@tanstack/react-router";
import { type AnyRouter, getElementScrollRestorationEntry } from "@tanstack/router-core";
import { useEffect } from "react";

/** Whoever has not scrolled by then, as the rows were long in coming, is left alone. */
const MAX_WAIT_MS = 30_000;
const INPUTS = ["wheel", "touchmove", "pointerdown", "keydown"];

/**
 * Scrolls back to where the reader was, after a reload and when going back or forward. The router does it once the screen is
 * rendered, which is before data has come; this goes on while the screen grows, until the reader does something.
 * A part that scrolls takes part by the attribute `data-scroll-restoration-id`.
 */
export function useScrollRestoring(): void {
  const router = useRouter();
  useEffect(() => {
    let stop = restore(router);
    let isReturn = false;
    const unlisten = router.history.subscribe(({ action: { type } }) => {
      stop();
      isReturn = type !== "PUSH" && type !== "REPLACE";
    });
    const unsubscribe = router.subscribe("onRendered", () => {
      if (isReturn) stop = restore(router);
      isReturn = false;
    });
    return () => {
      stop();
      unlisten();
      unsubscribe();
    };
  }, [router]);
}

function restore(router: AnyRouter): () => void {
  const done = new Set<string | undefined>();
  const put = (element: Element | null, id?: string) => {
    if (done.has(id)) return;
    const entry = getElementScrollRestorationEntry(router, id ? { id } : { getElement: () => window });
    if (!entry) return;
    const target = element ?? document.documentElement;
    target.scrollTo({ left: entry.scrollX, top: entry.scrollY });
    if (Math.abs(target.scrollTop - entry.scrollY) <= 1) done.add(id);
  };
  const putAll = () => {
    put(null);
    for (const element of document.querySelectorAll<HTMLElement>("[data-scroll-restoration-id]"))
      put(element, element.dataset.scrollRestorationId);
  };
  const observer = new MutationObserver(putAll);
  observer.observe(document.body, { subtree: true, childList: true, attributeFilter: ["style"] });
  putAll();
  const stop = () => {
    observer.disconnect();
    clearTimeout(timer);
    for (const input of INPUTS) removeEventListener(input, stop, true);
  };
  const timer = setTimeout(stop, MAX_WAIT_MS);
  for (const input of INPUTS) addEventListener(input, stop, { capture: true, passive: true });
  return stop;
}
