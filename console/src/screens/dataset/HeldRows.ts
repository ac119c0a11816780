import type { CombinedError } from "urql";
import {
  nextPage,
  type Page,
  type PageToRead,
  type Range,
  type Sparse,
  trimmed,
  withChange,
  withEntry,
  without,
  withPage,
} from "./runs.ts";

const PAGE = 300;
/** Rows are read when they are nearer than this to those in view. */
const MARGIN = 50;
/** More rows would fill the memory of the browser: those far from the view are read again when they come into it. */
const MAX_HELD = 20_000;

interface State<Row> {
  list: Sparse<Row>;
  error: CombinedError | undefined;
}

type Read<Row> = (
  page: PageToRead,
) => Promise<{ data: Omit<Page<Row>, "from"> } | { data?: undefined; error: CombinedError }>;

/** The rows of a dataset that are held, with what was changed in them. One page is read at a time. */
export class HeldRows<Row extends { id: string }> {
  /** Called when the dataset turns out not to have as many rows as it had. */
  onOtherCount = () => {};
  readonly #read: Read<Row>;
  readonly #listeners = new Set<() => void>();
  #state: State<Row>;
  #view: Range = { from: 0, to: 0 };
  /** Rows that are wanted wherever the view is. */
  #wanted: Range | null = null;
  #reading: Promise<void> | null = null;
  #round = 0;

  constructor(count: number, read: Read<Row>) {
    this.#state = { list: { count, runs: [] }, error: undefined };
    this.#read = read;
  }

  subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  now = () => this.#state;

  /** Reads the rows in view and next to it, and forgets those far away. */
  view = (view: Range): void => {
    this.#view = { from: view.from - MARGIN, to: view.to + MARGIN };
    const { list } = this.#state;
    const near = this.#wanted ? list : trimmed(list, view, MAX_HELD);
    if (near.runs !== list.runs) this.#put({ list: near });
    void this.#readMissing();
  };

  /** Reads rows wherever the view is; false where they cannot be read, which `error` then tells. */
  async read(range: Range): Promise<boolean> {
    this.#wanted = range;
    if (this.#state.error) this.#put({ error: undefined });
    await this.#readMissing();
    this.#wanted = null;
    return nextPage(this.#state.list, range, PAGE) === null;
  }

  /** Reads again what could not be read. */
  retry(): void {
    this.#put({ error: undefined });
    void this.#readMissing();
  }

  /** Forgets the rows, so that those in view are read again. */
  reload(): void {
    this.#put({ error: undefined });
    this.#forget(this.#state.list.count);
  }

  /** Forgets the rows where the dataset has more or fewer than was known: others have moved them. */
  setCount(count: number): void {
    if (count !== this.#state.list.count) this.#forget(count);
  }

  change(id: string, to: (row: Row) => Row): void {
    this.#put({ list: withChange(this.#state.list, id, to) });
  }

  remove(id: string): void {
    this.#round += 1; // the rows of a page on its way would stand one too far down
    this.#show(without(this.#state.list, id));
  }

  append(row: Row): void {
    this.#show(withEntry(this.#state.list, row));
  }

  #forget(count: number): void {
    this.#round += 1;
    this.#show({ count, runs: [] });
  }

  /** Shows a list in which other rows may be in view. */
  #show(list: Sparse<Row>): void {
    this.#put({ list });
    void this.#readMissing();
  }

  #put(part: Partial<State<Row>>): void {
    this.#state = { ...this.#state, ...part };
    for (const listener of this.#listeners) listener();
  }

  /** Reads page after page of what is missing, where nobody does so already, until nothing is or it fails. */
  async #readMissing(): Promise<void> {
    if (this.#reading) return this.#reading;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#reading = promise;
    for (let page = this.#next(); page && !this.#state.error; page = this.#next()) await this.#readPage(page);
    this.#reading = null; // at once: what is wanted from now on has missed the loop
    resolve();
  }

  #next(): PageToRead | null {
    const { list } = this.#state;
    return (this.#wanted && nextPage(list, this.#wanted, PAGE)) ?? nextPage(list, this.#view, PAGE);
  }

  async #readPage(page: PageToRead): Promise<void> {
    const round = this.#round;
    const result = await this.#read(page);
    if (round !== this.#round) return; // the rows are read again
    if (!result.data) return this.#put({ error: result.error });
    const { list } = this.#state;
    const read = withPage(list, { from: page.from, ...result.data });
    this.#put({ list: read });
    const isLonger = result.data.hasNext && page.from + page.first >= list.count;
    if (isLonger || read.count < list.count) this.onOtherCount();
  }
}
