import { z } from "zod";
import { idOf, lookUpSlug, text } from "./text.ts";

const MAX_PAGE = 100;
/** The default number of entries of a page. */
export const PAGE = 50;

/** Usage is paged by slugs of logs: older ones have 4,096 characters, which JSON may write with six each. */
const MAX_CURSOR_CHARACTERS = 65_536;
/** An id has 48. Each is decoded and compared: one of 65,000 in the fields of 2,400 entries took 0.8 s. */
const MAX_ID_CURSOR_CHARACTERS = 64;

/** The cursor of the entry with a sort key. Opaque to callers. */
export const toCursor = (key: string): string => Buffer.from(key).toString("base64url");

/** A cursor, parsed to the sort key in it. The entry may be gone: pages continue from where it was. */
export function cursor(key: z.ZodType<string, string>, maxCharacters = MAX_CURSOR_CHARACTERS) {
  return text(maxCharacters)
    .transform((text, context) => {
      const parsed = key.safeParse(Buffer.from(text, "base64url").toString());
      if (parsed.success && toCursor(parsed.data) === text) return parsed.data;
      context.addIssue({ code: "custom", message: "is not a cursor of this list" });
      return z.NEVER;
    })
    .nullish();
}

const slugKey = () => lookUpSlug().min(1);
const idKey = () => idOf("an entry");
/** The years 1 to 9999, which every database stores, in milliseconds since 1970. */
const MIN_TIME_MS = Date.parse("0001-01-01T00:00:00Z");
const MAX_TIME_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** A time in milliseconds since 1970 and an id. */
export const timeKey = () =>
  z.string().refine((value) => {
    const [ms = "", id, ...rest] = value.split(" ");
    const isTime = /^-?\d+$/.test(ms) && Number(ms) >= MIN_TIME_MS && Number(ms) <= MAX_TIME_MS;
    return isTime && rest.length === 0 && idKey().safeParse(id).success;
  });

/** The number of logs of a group and its key, with which groups are sorted. */
export const groupKey = () => text().regex(/^\d{1,16} /);

/** The number of entries of a page. */
const pageSize = (max: number, size: number) =>
  z
    .int()
    .min(0)
    .max(max)
    .nullish()
    .describe(`How many at most, up to ${max.toLocaleString("en")}; ${size} when absent.`);

function forwardPage(
  key: z.ZodType<string, string>,
  { max = MAX_PAGE, size = PAGE, maxCharacters = MAX_CURSOR_CHARACTERS } = {},
) {
  return {
    first: pageSize(max, size),
    after: cursor(key, maxCharacters).describe("Those after this cursor."),
  };
}

function page(
  key: z.ZodType<string, string>,
  { max = MAX_PAGE, size = PAGE, maxCharacters = MAX_CURSOR_CHARACTERS } = {},
) {
  return {
    ...forwardPage(key, { max, size, maxCharacters }),
    last: z
      .int()
      .min(0)
      .max(max)
      .nullish()
      .describe(
        `How many at most, from the end, up to ${max.toLocaleString("en")}. Not together with \`first\`.`,
      ),
    before: cursor(key, maxCharacters).describe("Those before this cursor."),
  };
}

/** The input for a page of a list in the order of slugs. */
export const slugPage = () => page(slugKey());
/** The input for a page of a list in the order of ids. */
export const idPage = (sizes: { max?: number; size?: number } = {}) =>
  page(idKey(), { ...sizes, maxCharacters: MAX_ID_CURSOR_CHARACTERS });
/** The input for a page of a list in the order of times; it is read from its beginning only. */
export const timePage = () => forwardPage(timeKey());

const MAX_SEARCH_CHARS = 200;

/** A text to search for. Bounded, as it is compared at each position of each text. */
export const searchText = () => text(MAX_SEARCH_CHARS).nullish();

type ReadPage<Entry> = (page: { limit: number; after: string | undefined }) => Promise<Entry[]>;

/** The pages of a list: `read` returns the page after a slug, and `turn` waits between two pages while other requests run. */
export async function* pagesOf<Entry extends { slug: string }>(
  turn: () => Promise<void>,
  read: ReadPage<Entry>,
): AsyncGenerator<Entry[]> {
  let after: string | undefined;
  for (;;) {
    const entries = await read({ limit: MAX_PAGE, after });
    yield entries;
    if (entries.length < MAX_PAGE) return;
    after = entries.at(-1)!.slug;
    await turn();
  }
}

/** All entries of a paged list. */
export async function allPages<Entry extends { slug: string }>(
  ...reading: Parameters<typeof pagesOf<Entry>>
): Promise<Entry[]> {
  return (await Array.fromAsync(pagesOf(...reading))).flat();
}
