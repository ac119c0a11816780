/**
 * Divides a number of places, or of bytes, between workspaces. One that is alone may take all of them, but no more than half
 * while another one holds some. A workspace that comes when all are taken gets an equal share beyond the number.
 */
export function createShares(max: number) {
  const taken = new Map<string, number>();
  let total = 0;
  return {
    total: (): number => total,
    /** Whether a workspace may take so many more. */
    hasRoom: (workspaceId: string, count: number): boolean => {
      const own = taken.get(workspaceId) ?? 0;
      const others = taken.size - (own > 0 ? 1 : 0);
      if (total + count > max) return own + count <= max / (others + 1);
      return others === 0 || own + count <= max / 2;
    },
    take: (workspaceId: string, count: number): void => {
      total += count;
      taken.set(workspaceId, (taken.get(workspaceId) ?? 0) + count);
    },
    giveBack: (workspaceId: string, count: number): void => {
      total -= count;
      const left = taken.get(workspaceId)! - count;
      if (left > 0) taken.set(workspaceId, left);
      else taken.delete(workspaceId);
    },
  };
}

export type Shares = ReturnType<typeof createShares>;
