import { useState } from "react";
import { IconButton } from "./Button.tsx";

const SHOWN_MS = 1_500;

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setIsCopied(true);
    setTimeout(setIsCopied, SHOWN_MS, false);
  };
  return (
    <IconButton
      icon={isCopied ? "check" : "copy"}
      label={isCopied ? "Copied" : label}
      onClick={() => void copy()}
    />
  );
}
