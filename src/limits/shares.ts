/** Shares that are kept for reuse. Creating one for each request of a workspace that sends one at a time costs 1 µs. */
const MAX_IDLE = 1_000;

/**
 * Divides a number of places, or of bytes, between workspaces. A workspace may take all of them while it is alone, and half
 * while another one holds any. When all are taken, a further workspace still gets an equal share, beyond `max`.
 */
export function createShares(max: number) {
  const shares = new Map<string, Share>();
  let total = 0;
  let holders = 0;
  const hasRoom = (own: number, count: number): boolean => {
    const otherHolders = holders - (own > 0 ? 1 : 0);
    if (total + count > max) return own + count <= max / (otherHolders + 1);
    return otherHolders === 0 || own + count <= max / 2;
  };
  const newShare = (workspaceId: string): Share => {
    const share: Share = {
      count: 0,
      giveBack: (count) => {
        total -= count;
        share.count -= count;
        if (share.count > 0) return;
        holders -= 1;
        if (shares.size > MAX_IDLE) shares.delete(workspaceId);
      },
    };
    return share;
  };
  return {
    total: (): number => total,
    /** Adds `count` to the share of a workspace, and returns the share; undefined when there is no room. */
    take: (workspaceId: string, count: number): Share | undefined => {
      const share = shares.get(workspaceId) ?? newShare(workspaceId);
      if (!hasRoom(share.count, count)) return undefined;
      if (share.count === 0) {
        holders += 1;
        shares.set(workspaceId, share);
      }
      total += count;
      share.count += count;
      return share;
    },
  };
}

/** What one workspace holds. */
export interface Share {
  count: number;
  giveBack(count: number): void;
}
