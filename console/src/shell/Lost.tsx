import { Button } from "../parts/Button.tsx";
import { Empty } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";

export function Lost() {
  return (
    <Page title="Nothing here">
      <Empty title="There is no such screen" action={<a href="/console">Go to the start</a>}>
        The address may be mistyped.
      </Empty>
    </Page>
  );
}

/** What is shown when a screen fails as a whole, such as when a new version of it cannot be loaded. */
export function Broken({ error }: { error: unknown }) {
  return (
    <Page title="Something went wrong">
      <Empty
        title="This screen cannot be shown"
        action={<Button onClick={() => location.reload()}>Load it again</Button>}
      >
        {error instanceof Error ? error.message : String(error)}
      </Empty>
    </Page>
  );
}
