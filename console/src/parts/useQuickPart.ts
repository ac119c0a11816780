import { useRouter } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";

/** Browsers allow about 100 changes of the address in 30 s, and keys repeat faster. */
const ADDRESS_MS = 350;

/** A part of the address that keys change: at once on the screen, and in the address once it rests. */
export function useQuickPart(part: string | undefined, write: (part: string | undefined) => void) {
  const router = useRouter();
  const [pathname] = useState(() => router.latestLocation.pathname);
  const [value, setValue] = useState(part);
  const written = useRef(part);
  const latest = useRef(write);
  latest.current = write;
  useEffect(() => {
    if (part === written.current) return;
    written.current = part; // the address has changed otherwise, such as by going back
    setValue(part);
  }, [part]);
  useEffect(() => {
    if (value === written.current) return;
    const timer = setTimeout(() => {
      if (router.latestLocation.pathname !== pathname) return; // another screen is on its way
      written.current = value;
      latest.current(value);
    }, ADDRESS_MS);
    return () => clearTimeout(timer);
  }, [value, router, pathname]);
  return [value, setValue] as const;
}
