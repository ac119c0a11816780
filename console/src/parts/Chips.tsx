import { Button } from "./Button.tsx";

interface Props<Key extends string> {
  /** The filters of the address. */
  search: Partial<Record<Key, string | undefined>>;
  /** Those that no control of the screen shows, with their names. */
  names: Partial<Record<Key, string>>;
  onRemove: (key: Key) => void;
}

/** The filters of an address that have no control of their own; a click removes one. */
export function Chips<Key extends string>({ search, names, onRemove }: Props<Key>) {
  const keys = (Object.keys(names) as Key[]).filter((key) => search[key]);
  return keys.map((key) => (
    <Button
      key={key}
      icon="close"
      aria-label={`Remove the filter ${names[key]} ${search[key]}`}
      onClick={() => onRemove(key)}
    >
      {names[key]} {search[key]}
    </Button>
  ));
}
