import { useState } from "react";
import { TextField } from "./Field.tsx";
import { slugOf } from "./slug.ts";

/** A name and the slug that is made of it until another one is typed, with their fields. */
export function useNameAndSlug(slugHint?: string) {
  const [name, setName] = useState("");
  const [typedSlug, setSlug] = useState<string | null>(null);
  const slug = typedSlug ?? slugOf(name);
  const fields = (
    <>
      <TextField label="Name" required value={name} onChange={(event) => setName(event.target.value)} />
      <TextField
        label="Slug"
        required
        value={slug}
        onChange={(event) => setSlug(event.target.value)}
        hint={slugHint}
      />
    </>
  );
  return { name, slug, fields };
}
