/**
 * Has work that keeps the event loop busy for some milliseconds go on one piece at a time, with a look at what else has
 * come in between. Workspaces take turns: the pieces of one wait behind a single piece of each other.
 */
export function createTurns(): (workspaceId: string) => Promise<void> {
  const waiting = new Map<string, (() => void)[]>();
  let isScheduled = false;
  const next = () => {
    const [first] = waiting;
    isScheduled = first !== undefined;
    if (!first) return;
    const [workspaceId, queue] = first;
    const begin = queue.shift()!;
    waiting.delete(workspaceId);
    if (queue.length > 0) waiting.set(workspaceId, queue);
    setImmediate(next);
    begin();
  };
  return (workspaceId) =>
    new Promise((resolve) => {
      const queue = waiting.get(workspaceId);
      if (queue) queue.push(resolve);
      else waiting.set(workspaceId, [resolve]);
      if (!isScheduled) setImmediate(next);
      isScheduled = true;
    });
}
