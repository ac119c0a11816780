import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useData, useSave } from "../../data.ts";
import type { ModelPricesQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { Button, IconButton } from "../../parts/Button.tsx";
import { Confirm } from "../../parts/Confirm.tsx";
import { formatPrice } from "../../parts/format.ts";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty } from "../../parts/Notice.tsx";
import { Page } from "../../parts/Page.tsx";
import { PageLinks } from "../../parts/Pager.tsx";
import { type Column, Table } from "../../parts/Table.tsx";
import { Time } from "../../parts/Time.tsx";
import { useToast } from "../../parts/Toast.tsx";
import { shellRoute } from "../../shell/routes.tsx";
import { NewPrice } from "./NewPrice.tsx";
import { Reprice } from "./Reprice.tsx";

const route = getRouteApi("/shell/prices");

const ModelPrices = graphql(`
  query ModelPrices($after: String) {
    modelPrices(first: 100, after: $after) {
      nodes {
        id
        model
        provider
        inputPrice
        outputPrice
        validFrom
        createdAt
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

const DeletePrice = graphql(`
  mutation DeletePrice($id: ID!) {
    deleteModelPrice(id: $id) {
      deletedModelPriceId
    }
  }
`);

type Price = ModelPricesQuery["modelPrices"]["nodes"][number];

export function Prices() {
  const { after, dialog } = route.useSearch();
  const { session } = shellRoute.useRouteContext();
  const navigate = route.useNavigate();
  const result = useData(ModelPrices, { after: after ?? null });
  const isAdmin = session.scopes.includes("admin");
  const [deleting, setDeleting] = useState<Price | null>(null);
  const setDialog = (next: string | undefined) =>
    void navigate({ search: (now) => ({ ...now, dialog: next }), replace: true });
  const close = () => {
    setDialog(undefined);
    result.retry();
  };
  const setButton = isAdmin && (
    <Button kind="primary" icon="plus" onClick={() => setDialog("new")}>
      Set a price
    </Button>
  );
  return (
    <Page
      title="Prices"
      about="Your own prices of models, in US dollars per million tokens. They win over the built-in price list."
      actions={
        isAdmin && (
          <>
            <Button onClick={() => setDialog("reprice")}>Reprice logs…</Button>
            {setButton}
          </>
        )
      }
    >
      <Loaded result={result}>
        {({ modelPrices: { nodes, pageInfo } }) =>
          nodes.length > 0 ? (
            <>
              <Table
                label="Prices"
                columns={isAdmin ? [...columns, actionOf(setDeleting)] : columns}
                rows={nodes}
                keyOf={({ id }) => id}
              />
              <PageLinks after={after} pageInfo={pageInfo} />
            </>
          ) : (
            <Empty title="No prices of your own" action={setButton}>
              The built-in list knows the published models. Set a price for a model of your own, or for your
              contract.
            </Empty>
          )
        }
      </Loaded>
      {dialog === "new" && <NewPrice onClose={close} />}
      {dialog === "reprice" && <Reprice onClose={() => setDialog(undefined)} />}
      {deleting && (
        <DeleteDialog
          price={deleting}
          onClose={() => {
            setDeleting(null);
            result.retry();
          }}
        />
      )}
    </Page>
  );
}

const columns: Column<Price>[] = [
  { name: "Model", isWide: true, cell: ({ model }) => model },
  { name: "Provider", isOptional: true, cell: ({ provider }) => provider ?? "every" },
  { name: "Input", align: "end", cell: ({ inputPrice }) => formatPrice(inputPrice) },
  { name: "Output", align: "end", cell: ({ outputPrice }) => formatPrice(outputPrice) },
  {
    name: "Holds from",
    align: "end",
    isOptional: true,
    cell: ({ validFrom }) => (validFrom ? <Time at={validFrom} /> : "always"),
  },
];

const actionOf = (onDelete: (price: Price) => void): Column<Price> => ({
  name: "Delete",
  align: "end",
  cell: (price) => (
    <IconButton
      size="small"
      icon="close"
      label={`Delete the price of ${price.model}`}
      onClick={() => onDelete(price)}
    />
  ),
});

function DeleteDialog({ price, onClose }: { price: Price; onClose: () => void }) {
  const { run, error, isRunning } = useSave(DeletePrice);
  const toast = useToast();
  const confirm = async () => {
    if (!(await run({ id: price.id }))) return;
    toast(`The price of ${price.model} is deleted`);
    onClose();
  };
  return (
    <Confirm
      title={`Delete the price of ${price.model}?`}
      verb="Delete"
      error={error}
      isRunning={isRunning}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      What is logged already keeps its cost until you reprice it.
    </Confirm>
  );
}
