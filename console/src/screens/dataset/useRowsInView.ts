import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { useEffect } from "react";

export const ROW_PX = 34;
/** More rows are read when fewer than these are below those in view. */
const MIN_ROWS_AHEAD = 50;

interface View {
  count: number;
  /** The index of the edited row, or -1. */
  edited: number;
  hasMore: boolean;
  onMore: () => void;
}

/** The rows to render, the edited one always among them, and reading more of them in time. */
export function useRowsInView(
  frame: React.RefObject<HTMLDivElement | null>,
  { count, edited, hasMore, onMore }: View,
) {
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    rangeExtractor: (range) => {
      const inView = defaultRangeExtractor(range);
      return edited === -1 || inView.includes(edited) ? inView : [...inView, edited];
    },
  });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && last >= count - MIN_ROWS_AHEAD) onMore();
  }, [hasMore, last, count, onMore]);
  return { virtual, shown };
}
