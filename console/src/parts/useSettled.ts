import { useEffect, useState } from "react";

const TYPING_MS = 200;

/** The value once it has not changed for a moment. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(setSettled, TYPING_MS, value);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
