/**
 * Runs work that keeps the event loop busy for milliseconds one piece at a time, and handles other events between two
 * pieces. Workspaces take turns: a piece waits for at most one piece of each other workspace.
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
