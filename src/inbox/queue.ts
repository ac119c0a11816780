import { LRUCache } from "lru-cache";
import { newId } from "../database/ids.ts";
import type { RejectedItem } from "./entities.ts";

/** Something that was rejected. */
export interface Rejection {
  /** Method and route, such as `POST /monitor/log`. */
  endpoint: string;
  /** What sent it, such as its `user-agent`; null when it did not say. */
  client: string | null;
  code: string;
  /** The sentence of the error. */
  reason: string;
  /** How it began; null when it was rejected unread. */
  sample: string | null;
  /** How many were rejected alike; 1 when absent. */
  count?: number;
  /** For how long equal ones are added to it; a minute when absent. */
  mergedMs?: number;
}

export type Row = Omit<RejectedItem, "workspace"> & { workspace: string };

const MAX_WAITING_OF_WORKSPACE = 50;
const MAX_WAITING = 2_000;
/** Rows to which an equal rejection may be added. */
const MAX_RECENT = 2_000;
const MERGED_MS = 60_000;
const MAX_COUNT = 2 ** 31 - 1;

/**
 * Collects rejections in memory until they are stored. Equal ones within `mergedMs` are one row with a count. Rejections
 * beyond the limits are lost: a flood does not show more than its beginning does.
 */
export function createRejectionQueue() {
  const waiting = new Map<string, Set<Row>>();
  const recent = new LRUCache<string, Row>({ max: MAX_RECENT });
  let size = 0;
  const rowOf = (workspace: string, { count: _, mergedMs = MERGED_MS, ...rejection }: Rejection): Row => {
    const { endpoint, client, code, reason } = rejection;
    const key = JSON.stringify([workspace, endpoint, client, code, reason]);
    const earlier = recent.get(key);
    if (earlier && earlier.createdAt.getTime() > Date.now() - mergedMs) return earlier;
    const row = { ...rejection, id: newId(), workspace, createdAt: new Date(), count: 0 };
    recent.set(key, row);
    return row;
  };
  return {
    add: (workspace: string, rejection: Rejection): void => {
      const rows = waiting.get(workspace) ?? new Set();
      const row = rowOf(workspace, rejection);
      if (!rows.has(row)) {
        if (rows.size >= MAX_WAITING_OF_WORKSPACE || size >= MAX_WAITING) return;
        waiting.set(workspace, rows.add(row));
        size += 1;
      }
      row.count = Math.min(MAX_COUNT, row.count + (rejection.count ?? 1));
    },
    /** Takes out the rows to store, those of a workspace together: new ones, and earlier ones with a higher count. */
    take: (): Row[] => {
      const rows = [...waiting.values()].flatMap((set) => [...set]);
      waiting.clear();
      size = 0;
      return rows;
    },
  };
}
