import { readdir, readFile } from "node:fs/promises";

/** A fenced block of a page, which readers copy as it stands. */
export interface Snippet {
  page: string;
  line: number;
  language: string;
  text: string;
}

const root = new URL("../../", import.meta.url);

/** The text of a page, by its path in the repository. */
export const readPage = (page: string): Promise<string> => readFile(new URL(page, root), "utf8");

/** The fenced blocks of a page in reading order. Throws where one is written in a way in which it would not be found. */
export function snippetsOf(page: string, markdown: string): Snippet[] {
  const fences = [...markdown.matchAll(/^```(\S*)[^\n]*\n(.*?)^```$/gms)];
  const written = markdown.match(/^[ >]*(?:```|~~~)/gm)?.length ?? 0;
  if (written !== 2 * fences.length) throw new Error(`${page} has a block that is indented or does not end`);
  return fences.map(({ index, 1: language, 2: text }) => ({
    page,
    line: markdown.slice(0, index).split("\n").length,
    language: language!,
    text: text!,
  }));
}

/** What a page links to in this repository, by the page's own way of writing it. */
export function linksOf(markdown: string): string[] {
  const prose = markdown.replace(/^```.*?^```$/gms, "").replaceAll(/`[^`]*`/g, "");
  const links = prose.matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g);
  return [...links].map(([, link, attribute]) => (link ?? attribute)!).filter((link) => !/^\w+:/.test(link));
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(markdown: string): string[] {
  const headings = markdown.replace(/^```.*?^```$/gms, "").matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** README first, then the pages in the order in which its last section lists them. */
export async function readingOrder(): Promise<string[]> {
  const [, next = ""] = (await readPage("README.md")).split("\n## Where to go next\n");
  const links = linksOf(next);
  const pages = links.map((link) => link.split("#")[0]!).filter((link) => /^docs\/[^/]+\.md$/.test(link));
  return ["README.md", ...new Set(pages)];
}

/** Every document that readers see, with its text. */
export async function allDocuments(): Promise<(readonly [page: string, text: string])[]> {
  const internals = await readdir(new URL("docs/internals", root));
  const pages = [
    ...(await readingOrder()),
    ...internals.map((name) => `docs/internals/${name}`),
    "CHANGELOG.md",
    "SECURITY.md",
  ];
  return Promise.all(pages.map(async (page) => [page, await readPage(page)] as const));
}
