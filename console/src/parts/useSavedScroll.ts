import { useElementScrollRestoration } from "@tanstack/react-router";
import { useState } from "react";

/** How far a part was scrolled when the reader left it, by its `data-scroll-restoration-id`; undefined on a first visit. */
export function useSavedScroll(id: string): number | undefined {
  const entry = useElementScrollRestoration({ id });
  const [saved] = useState(entry?.scrollY);
  return saved;
}
