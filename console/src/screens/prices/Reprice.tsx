import { useState } from "react";
import { useSave } from "../../data.ts";
import type { RepriceMutation } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { Button } from "../../parts/Button.tsx";
import { Dialog } from "../../parts/Dialog.tsx";
import { Facts } from "../../parts/Facts.tsx";
import { Form, FormButtons, Select } from "../../parts/Field.tsx";
import { formatCost, formatCount } from "../../parts/format.ts";
import { ErrorNotice } from "../../parts/Notice.tsx";
import { periodChoices, periodOf } from "../../parts/period.ts";

const RepriceLogs = graphql(`
  mutation Reprice($input: RepriceLogsInput!) {
    repriceLogs(input: $input) {
      dryRun
      examined
      changed
      priced
      unpriced
      costBefore
      costAfter
    }
  }
`);

/** Computes costs of past calls again; what would change shows before anything is stored. */
export function Reprice({ onClose }: { onClose: () => void }) {
  const { run, error, isRunning } = useSave(RepriceLogs);
  const [days, setDays] = useState("30");
  const [report, setReport] = useState<RepriceMutation["repriceLogs"] | null>(null);
  const { from, to } = periodOf(days);
  const reprice = async (dryRun: boolean) => {
    const data = await run({ input: { from, to, dryRun } });
    setReport(data?.repriceLogs ?? null);
  };
  const isPreview = report?.dryRun === true;
  return (
    <Dialog title="Reprice logs" onClose={onClose}>
      <Form onSubmit={() => void reprice(!isPreview)}>
        <p>
          Computes the costs of past calls again, by the prices as they are now. Costs that callers reported
          stay.
        </p>
        <Select
          label="Period"
          choices={periodChoices}
          value={days}
          onChange={(event) => {
            setDays(event.target.value);
            setReport(null);
          }}
        />
        {report && (
          <Facts
            facts={[
              { name: "Examined", value: formatCount(report.examined) },
              { name: isPreview ? "Would change" : "Changed", value: formatCount(report.changed) },
              { name: "Newly priced", value: formatCount(report.priced) },
              { name: "Cost before", value: formatCost(report.costBefore) },
              { name: "Cost after", value: formatCost(report.costAfter) },
            ]}
          />
        )}
        {error && <ErrorNotice error={error} />}
        <FormButtons>
          <Button onClick={onClose}>{report && !isPreview ? "Done" : "Cancel"}</Button>
          {(!report || isPreview) && (
            <Button kind="primary" type="submit" disabled={isRunning || (isPreview && report.changed === 0)}>
              {isPreview ? `Reprice ${countOfLogs(report.changed)}` : "See what would change"}
            </Button>
          )}
        </FormButtons>
      </Form>
    </Dialog>
  );
}

const countOfLogs = (count: number) => (count === 1 ? "1 log" : `${formatCount(count)} logs`);
