import { Page } from "../../parts/Page.tsx";
import { CheckupCard } from "./CheckupCard.tsx";
import { Rejected } from "./Rejected.tsx";
import { RetentionCard } from "./RetentionCard.tsx";

export function Settings() {
  return (
    <Page
      title="Settings"
      about="What needs attention, how long traces are kept, and what clients sent that was not taken."
    >
      <CheckupCard />
      <RetentionCard />
      <Rejected />
    </Page>
  );
}
