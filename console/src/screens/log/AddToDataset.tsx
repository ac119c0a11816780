import { useState } from "react";
import { useData, useSave } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Dialog } from "../../parts/Dialog.tsx";
import { SearchField, Select } from "../../parts/Field.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty } from "../../parts/Notice.tsx";
import { SaveForm } from "../../parts/SaveForm.tsx";
import { useToast } from "../../parts/Toast.tsx";

const DatasetChoices = graphql(`
  query DatasetChoices($search: String) {
    datasets(search: $search, first: 100) {
      nodes {
        id
        slug
        name
      }
      pageInfo {
        hasNextPage
      }
    }
  }
`);

const AddLogToDataset = graphql(`
  mutation AddLogToDataset($slug: String!, $logId: ID!) {
    addLogToDataset(slug: $slug, input: { logId: $logId }) {
      datasetRow {
        id
      }
      warnings {
        message
      }
    }
  }
`);

/** Makes a row of a log; each column takes the part or the variable of its own name. */
export function AddToDataset({ logId, onClose }: { logId: string; onClose: () => void }) {
  const [search, setSearch] = useState("");
  const result = useData(DatasetChoices, { search: search || null });
  const save = useSave(AddLogToDataset);
  const [chosen, setChosen] = useState<string | null>(null);
  const toast = useToast();
  return (
    <Dialog title="Add to dataset" onClose={onClose}>
      {(search || result.data?.datasets.pageInfo.hasNextPage) && (
        <SearchField label="Search datasets" value={search} onSearch={setSearch} />
      )}
      <Loaded result={result}>
        {({ datasets: { nodes } }) => {
          const slug = (nodes.find((node) => node.slug === chosen) ?? nodes[0])?.slug;
          if (!slug) return <Empty title={search ? "No dataset fits" : "No datasets yet"} />;
          const submit = async () => {
            const data = await save.run({ slug, logId });
            if (!data) return;
            const [warning] = data.addLogToDataset.warnings;
            toast(warning ? `Added to ${slug}. ${warning.message}` : `Added to ${slug}`);
            onClose();
          };
          return (
            <SaveForm verb="Add" save={save} onSubmit={submit} onCancel={onClose}>
              <Select
                label="Dataset"
                choices={nodes.map((node) => ({ value: node.slug, label: `${node.name} (${node.slug})` }))}
                value={slug}
                onChange={(event) => setChosen(event.target.value)}
              />
              <p>Each column takes the part of the log, or the variable, that has its name.</p>
            </SaveForm>
          );
        }}
      </Loaded>
    </Dialog>
  );
}
