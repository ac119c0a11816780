/** To make a share for each request of a workspace that sends one after the other costs a microsecond. */
const MAX_IDLE = 1_000;

/**
 * Divides a number of places, or of bytes, between workspaces. One that is alone may take all of them, but no more than half
 * while another one holds some. A workspace that comes when all are taken gets an equal share beyond the number.
 */
export function createShares(max: number) {
  const shares = new Map<string, Share>();
  let total = 0;
  let holders = 0;
  const hasRoom = (own: number, count: number): boolean => {
    const others = holders - (own > 0 ? 1 : 0);
    if (total + count > max) return own + count <= max / (others + 1);
    return others === 0 || own + count <= max / 2;
  };
  const newShare = (workspaceId: string): Share => {
    const share: Share = {
      taken: 0,
      giveBack: (count) => {
        total -= count;
        share.taken -= count;
        if (share.taken > 0) return;
        holders -= 1;
        if (shares.size > MAX_IDLE) shares.delete(workspaceId);
      },
    };
    return share;
  };
  return {
    total: (): number => total,
    /** Takes so many more for a workspace, and gives what to give them back to; undefined when there is no room. */
    take: (workspaceId: string, count: number): Share | undefined => {
      const share = shares.get(workspaceId) ?? newShare(workspaceId);
      if (!hasRoom(share.taken, count)) return undefined;
      if (share.taken === 0) {
        holders += 1;
        shares.set(workspaceId, share);
      }
      total += count;
      share.taken += count;
      return share;
    },
  };
}

/** What one workspace has taken. */
export interface Share {
  taken: number;
  giveBack(count: number): void;
}
