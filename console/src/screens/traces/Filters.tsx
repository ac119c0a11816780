import { type ReactNode, useCallback } from "react";
import { Chips } from "../../parts/Chips.tsx";
import { FilterBar, SearchField, Select } from "../../parts/Field.tsx";
import { dayOf, formatDay } from "../../parts/format.ts";
import { type LogSearch, periodChoices } from "../logs/filter.ts";

export interface TraceSearch extends LogSearch {
  sort?: string;
}

/** What a page of the list can be sorted by; without, the latest is first. */
export const sortChoices = [
  { value: "", label: "Latest first" },
  { value: "cost", label: "Costliest of the page first" },
  { value: "duration", label: "Longest of the page first" },
  { value: "errors", label: "Most errors of the page first" },
];

const costChoices = [
  { value: "", label: "Any cost" },
  { value: "0.001", label: "A step of $0.001 or more" },
  { value: "0.01", label: "A step of $0.01 or more" },
  { value: "0.1", label: "A step of $0.10 or more" },
];

const latencyChoices = [
  { value: "", label: "Any latency" },
  { value: "1000", label: "A step of 1 s or more" },
  { value: "5000", label: "A step of 5 s or more" },
  { value: "30000", label: "A step of 30 s or more" },
];

const isChoice = (choices: typeof costChoices, chosen = "") => choices.some(({ value }) => value === chosen);

/** The filters without a control: a cost or a latency that is none of the choices is one of them. */
const namesOf = ({ minCost, minLatency }: TraceSearch): Partial<Record<keyof TraceSearch, string>> => ({
  ...{ slug: "Prompt", user: "User" },
  ...(!isChoice(costChoices, minCost) && { minCost: "A step of $" }),
  ...(!isChoice(latencyChoices, minLatency) && { minLatency: "A step of ms" }),
});

interface Props {
  search: TraceSearch;
  onChange: (part: TraceSearch) => void;
  children: ReactNode;
}

export function Filters({ search, onChange, children }: Props) {
  const onSearch = useCallback((text: string) => onChange({ q: text || undefined }), [onChange]);
  return (
    <FilterBar>
      <SearchField label="Search words" value={search.q ?? ""} onSearch={onSearch} />
      <PeriodChoice search={search} onChange={onChange} />
      <Select
        label="Cost"
        choices={costChoices}
        value={search.minCost ?? ""}
        onChange={(event) => onChange({ minCost: event.target.value || undefined })}
      />
      <Select
        label="Latency"
        choices={latencyChoices}
        value={search.minLatency ?? ""}
        onChange={(event) => onChange({ minLatency: event.target.value || undefined })}
      />
      <Select
        label="Order"
        choices={sortChoices}
        value={search.sort ?? ""}
        onChange={(event) => onChange({ sort: event.target.value || undefined })}
      />
      <Chips search={search} names={namesOf(search)} onRemove={(name) => onChange({ [name]: undefined })} />
      {children}
    </FilterBar>
  );
}

/** A period up to now, or a whole day of the reader. */
function PeriodChoice({ search, onChange }: Omit<Props, "children">) {
  const yesterday = dayBeforeToday();
  const days = [...new Set([yesterday, ...(search.day ? [search.day] : [])])].map((day) => ({
    value: day,
    label: day === yesterday ? "Yesterday" : formatDay(day),
  }));
  return (
    <Select
      label="Period"
      choices={[...periodChoices, ...days]}
      value={search.day ?? search.since ?? ""}
      onChange={({ target: { value } }) => {
        const isDay = days.some(({ value: day }) => day === value);
        onChange({ since: isDay ? undefined : value || undefined, day: isDay ? value : undefined });
      }}
    />
  );
}

function dayBeforeToday(): string {
  const date = new Date();
  date.setDate(date.getDate() - 1);
  return dayOf(date);
}
