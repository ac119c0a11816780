import { Page } from "../../parts/Page.tsx";
import { Rejected } from "./Rejected.tsx";
import { RetentionCard } from "./RetentionCard.tsx";

export function Settings() {
  return (
    <Page title="Settings" about="How long traces are kept, and what clients sent that was not taken.">
      <RetentionCard />
      <Rejected />
    </Page>
  );
}
