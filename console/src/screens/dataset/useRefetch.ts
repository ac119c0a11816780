import { useCallback, useEffect, useRef } from "react";

/** Asks again; once more where an answer that may be older than the last change is on its way. */
export function useRefetch({ isStale, retry }: { isStale: boolean; retry: () => void }): () => void {
  const isDue = useRef(false);
  const isOnItsWay = useRef(isStale);
  useEffect(() => {
    isOnItsWay.current = isStale;
    if (isStale || !isDue.current) return;
    isDue.current = false;
    retry();
  }, [isStale, retry]);
  return useCallback(() => {
    if (isOnItsWay.current) isDue.current = true;
    else retry();
    isOnItsWay.current = true;
  }, [retry]);
}
