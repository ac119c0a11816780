import { Chips } from "../../parts/Chips.tsx";
import { DayField, FilterBar, Select } from "../../parts/Field.tsx";
import { periodChoices, periodOf, rangeOf } from "../../parts/period.ts";
import { groups, measures } from "./measures.ts";

type Part = "by" | "measure" | "period" | "slug" | "from" | "to";
type UsageSearch = Partial<Record<Part, string | undefined>>;

interface Props {
  search: UsageSearch;
  grouping: (typeof groups)[number];
  measure: (typeof measures)[number];
  onChange: (part: UsageSearch) => void;
}

export function UsageFilters({ search, grouping, measure, onChange }: Props) {
  const { from = "", to = "" } = search;
  const isRange = rangeOf(search.from, search.to) !== null;
  const chosen = [{ value: "days", label: "Chosen days" }];
  return (
    <FilterBar>
      <Select
        label="Group"
        choices={groups}
        value={grouping.value}
        onChange={(event) => onChange({ by: event.target.value })}
      />
      <Select
        label="Measure"
        choices={measures}
        value={measure.value}
        onChange={(event) => onChange({ measure: event.target.value })}
      />
      <Select
        label="Period"
        choices={isRange ? [...periodChoices, ...chosen] : periodChoices}
        value={isRange ? "days" : periodOf(search.period).days}
        onChange={(event) => onChange({ period: event.target.value, from: undefined, to: undefined })}
      />
      <DayField label="From" value={from} max={to} onChange={(day) => onChange({ from: day })} />
      <DayField label="To" value={to} min={from} onChange={(day) => onChange({ to: day })} />
      <Chips search={search} names={{ slug: "Prompt" }} onRemove={() => onChange({ slug: undefined })} />
    </FilterBar>
  );
}
