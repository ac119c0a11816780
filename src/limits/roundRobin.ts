/** What waits, by workspace. Workspaces take turns, so that one with little does not wait behind one with much. */
export function createRoundRobin<Item>() {
  const lines = new Map<string, Item[]>();
  return {
    /** Whether nothing waits. */
    isEmpty: () => lines.size === 0,
    /** Puts an item behind those of its workspace. */
    add: (workspaceId: string, item: Item): void => {
      const line = lines.get(workspaceId);
      if (line) line.push(item);
      else lines.set(workspaceId, [item]);
    },
    /** Takes the first item of the workspace whose turn it is; undefined when nothing waits. */
    next: (): Item | undefined => {
      const [first] = lines;
      if (!first) return undefined;
      const [workspaceId, line] = first;
      const item = line.shift();
      lines.delete(workspaceId);
      if (line.length > 0) lines.set(workspaceId, line);
      return item;
    },
  };
}
