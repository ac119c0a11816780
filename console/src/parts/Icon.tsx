const paths = {
  overview: "M3 3h6v7H3zM11 3h6v4h-6zM11 9h6v8h-6zM3 12h6v5H3z",
  prompts: "M4 4h12v9H9l-4 3v-3H4zM7 7.5h6M7 10h4",
  datasets: "M3 4h14v12H3zM3 8h14M3 12h14M8 4v12",
  logs: "M4 5h12M4 10h12M4 15h7",
  traces: "M3 5h8M6 10h9M9 15h8M3 5v10M3 10h1.500M3 15h3",
  settings: "M4 6h7M15 6h1M4 14h2M10 14h6M13 4v4M8 12v4",
  usage: "M4 16V9M8 16V4M12 16v-5M16 16V7",
  prices:
    "M10 3v14M13.5 6.2C12.7 5.4 11.500 5 10 5 8 5 6.500 6 6.500 7.500c0 3.300 7 1.700 7 5 0 1.500-1.500 2.500-3.500 2.500-1.600 0-2.900-.5-3.700-1.400",
  tokens: "M8 12a4 4 0 1 1 2.600-6.900A4 4 0 0 1 11 11l5 0v3h-2v-1.500h-2V14H9.500",
  audit: "M10 3l6 2.500v4c0 3.500-2.500 6-6 7.500-3.500-1.500-6-4-6-7.500v-4zM7.500 10l2 2 3.500-3.500",
  search: "M9 14A5 5 0 1 0 9 4a5 5 0 0 0 0 10zM13 13l4 4",
  plus: "M10 4v12M4 10h12",
  close: "M5 5l10 10M15 5L5 15",
  menu: "M3 5.500h14M3 10h14M3 14.500h14",
  chevron: "M8 5l5 5-5 5",
  copy: "M7 7h9v9H7zM4 13V4h9",
  check: "M4 10.500l4 4 8-9",
  leave: "M8 4H4v12h4M9 10h8M14 7l3 3-3 3",
  query: "M7 5L3 10l4 5M13 5l4 5-4 5",
  back: "M12 5l-5 5 5 5",
  alert: "M10 3l8 14H2zM10 8v4M10 14.500v.1",
} as const;

export type IconName = keyof typeof paths;

/** A drawing that repeats what the text beside it says. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      aria-hidden="true"
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={paths[name]} />
    </svg>
  );
}
