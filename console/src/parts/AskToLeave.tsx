import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import type { Search } from "../search.ts";
import { Confirm } from "./Confirm.tsx";
import { useSettled } from "./useSettled.ts";

interface Place {
  pathname: string;
  search: Search;
}

interface Props {
  /** What an address shows: only another one is another place. */
  placeOf: (address: Place) => string | null;
  isUnsaved: () => boolean;
  /** Stores what can be before the place is left. */
  onLeave?: () => void;
  children: ReactNode;
}

/** Asks before a place is left with something that is not stored, unless it is stored a moment later. */
export function AskToLeave({ placeOf, isUnsaved, onLeave, children }: Props) {
  const mustAsk = () => {
    onLeave?.();
    return isUnsaved();
  };
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => placeOf(current) !== placeOf(next) && mustAsk(),
    enableBeforeUnload: mustAsk,
    withResolver: true,
  });
  const isBlocked = status === "blocked";
  const isStored = isBlocked && !isUnsaved();
  useEffect(() => {
    if (isStored) proceed?.();
  }, [isStored, proceed]);
  const isAsked = useSettled(isBlocked) && isBlocked;
  if (!isAsked) return null;
  return (
    <Confirm
      title="Leave without saving?"
      verb="Leave"
      error={undefined}
      isRunning={false}
      onConfirm={proceed}
      onClose={reset}
    >
      {children}
    </Confirm>
  );
}
