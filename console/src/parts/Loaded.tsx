import { type ReactNode, useDeferredValue, useEffect, useState } from "react";
import type { QueryResult } from "../data.ts";
import { ErrorNotice, Waiting } from "./Notice.tsx";

const PATIENCE_MS = 300;

interface Props<Data> {
  result: QueryResult<Data>;
  children: (data: Data) => ReactNode;
}

/** The data of a query once it is there, below an error with a retry; a placeholder only when it takes long. */
export function Loaded<Data>({ result, children }: Props<Data>) {
  const { error, retry } = result;
  // A list of fifty rows takes 40 ms to draw, which keys pressed meanwhile must not wait for.
  const data = useDeferredValue(result.data);
  const notice = error && <ErrorNotice error={error} onRetry={retry} />;
  if (data == null) return notice ?? <Patience />;
  return (
    <>
      {notice}
      {children(data)}
    </>
  );
}

function Patience() {
  const [isLong, setIsLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(setIsLong, PATIENCE_MS, true);
    return () => clearTimeout(timer);
  }, []);
  return isLong ? <Waiting /> : null;
}
