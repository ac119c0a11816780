import { getRouteApi } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useQuickPart } from "../../parts/useQuickPart.ts";
import { readCollapsed, writeCollapsed } from "./collapsed.ts";
import { hasBelow, type Outline } from "./outline.ts";

const route = getRouteApi("/shell/traces/$id");

/** The collapsed steps, which the address holds; where they are too many for it, it keeps those that it had. */
export function useCollapsed(outline: Outline) {
  const { collapsed: part } = route.useSearch();
  const navigate = route.useNavigate();
  const [held, setHeld] = useQuickPart(
    part,
    (next) =>
      void navigate({ search: (now) => ({ ...now, collapsed: next }), replace: true, resetScroll: false }),
  );
  const parents = useMemo(
    () => outline.steps.flatMap(({ id }, n) => (hasBelow(outline, n) ? [id] : [])),
    [outline],
  );
  const [tooMany, setTooMany] = useState<ReadonlySet<string>>();
  const collapsed = useMemo(() => tooMany ?? readCollapsed(parents, held), [tooMany, parents, held]);
  const setCollapsed = (next: ReadonlySet<string>) => {
    const written = writeCollapsed(parents, next);
    setTooMany(written === undefined ? next : undefined);
    if (written !== undefined) setHeld(written || undefined);
  };
  return [collapsed, setCollapsed] as const;
}
