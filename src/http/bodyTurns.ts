interface Piece {
  /** Those of a lower rank pass first. */
  rank: number;
  bytes: number;
  pass: () => void;
}

interface Lane {
  /** What has passed in this turn. */
  bytes: number;
  /** In their order. */
  waiting: Piece[];
}

/**
 * Lets so many bytes of the bodies of a workspace pass in one turn of the event loop. What comes behind them waits for the next
 * turns, and Node.js reads no more of its connection meanwhile. With the place of its body as its rank, few bodies are in memory: of
 * 200 with 3.6 MB each 191 to 200 are answered, and in the order in which their pieces come 0 to 2.
 */
export function createBodyTurns(maxBytes: number): (workspaceId: string, piece: Piece) => void {
  const lanes = new Map<string, Lane>();
  const beginTurn = (workspaceId: string, lane: Lane) => {
    if (lane.waiting.length === 0) return void lanes.delete(workspaceId);
    lane.bytes = 0;
    setImmediate(beginTurn, workspaceId, lane);
    while (lane.waiting.length > 0 && lane.bytes < maxBytes) {
      const { bytes, pass } = lane.waiting.shift()!;
      lane.bytes += bytes;
      pass();
    }
  };
  return (workspaceId, piece) => {
    let lane = lanes.get(workspaceId);
    if (!lane) {
      lane = { bytes: 0, waiting: [] };
      lanes.set(workspaceId, lane);
      setImmediate(beginTurn, workspaceId, lane);
    }
    if (lane.waiting.length > 0 || lane.bytes >= maxBytes) {
      const before = lane.waiting.findLastIndex(({ rank }) => rank <= piece.rank);
      return void lane.waiting.splice(before + 1, 0, piece);
    }
    lane.bytes += piece.bytes;
    piece.pass();
  };
}
