import { useData, useSave } from "../../data.ts";
import type { TagHistoryQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { Badge, TagBadge } from "../../parts/Badge.tsx";
import { Button } from "../../parts/Button.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty, ErrorNotice } from "../../parts/Notice.tsx";
import { type Column, Table } from "../../parts/Table.tsx";
import { Time } from "../../parts/Time.tsx";
import { useToast } from "../../parts/Toast.tsx";
import styles from "./Prompt.module.css";
import type { PromptHeadOf } from "./queries.ts";

const TagHistory = graphql(`
  query TagHistory($slug: String!) {
    prompt(slug: $slug) {
      id
      tagHistory(first: 100) {
        nodes {
          id
          tag
          from
          to
          token
          createdAt
        }
      }
    }
  }
`);

const RollBack = graphql(`
  mutation RollBack($slug: String!, $tag: String!) {
    rollbackPromptTag(slug: $slug, input: { tag: $tag }) {
      promptTag {
        id
        label
        version
      }
      prompt {
        id
      }
    }
  }
`);

const SetProtection = graphql(`
  mutation SetProtection($slug: String!, $tag: String!, $protected: Boolean!) {
    setTagProtection(slug: $slug, input: { tag: $tag, protected: $protected }) {
      protectedTags
      prompt {
        id
      }
    }
  }
`);

type Move = NonNullable<TagHistoryQuery["prompt"]>["tagHistory"]["nodes"][number];

const moves: Column<Move>[] = [
  { name: "When", cell: ({ createdAt }) => <Time at={createdAt} as="clock" /> },
  { name: "Tag", cell: ({ tag }) => <TagBadge label={tag} /> },
  { name: "From", isOptional: true, cell: ({ from }) => from ?? "–" },
  { name: "To", isWide: true, cell: ({ to }) => to ?? "removed" },
  { name: "By", cell: ({ token }) => token },
];

/** Where each tag points, how to point it back, and who moved which when. */
export function Tags({ prompt }: { prompt: PromptHeadOf }) {
  const result = useData(TagHistory, { slug: prompt.slug });
  const { run, error, isRunning } = useSave(RollBack);
  const protection = useSave(SetProtection);
  const toast = useToast();
  const rollBack = async (tag: string) => {
    const data = await run({ slug: prompt.slug, tag });
    if (!data) return;
    const version = data.rollbackPromptTag.promptTag?.version;
    toast(version ? `${tag} points to ${version} again` : `${tag} is gone again`);
  };
  const protect = async (tag: string, isProtected: boolean) => {
    if (!(await protection.run({ slug: prompt.slug, tag, protected: isProtected }))) return;
    toast(isProtected ? `${tag} needs the scope publish now` : `${tag} is not protected any more`);
  };
  if (prompt.tags.length === 0 && (result.data?.prompt?.tagHistory.nodes.length ?? 0) === 0)
    return (
      <Empty title="No tags yet">
        Publish a version with the tag production, and applications get it from the next call on.
      </Empty>
    );
  const isProtected = (label: string) => prompt.protectedTags.includes(label);
  const failure = error ?? protection.error;
  const tags: Column<PromptHeadOf["tags"][number]>[] = [
    {
      name: "Tag",
      cell: ({ label }) => (
        <>
          <TagBadge label={label} /> {isProtected(label) && <Badge tone="warn">protected</Badge>}
        </>
      ),
    },
    { name: "Version", isWide: true, cell: ({ version }) => version },
    {
      name: "Action",
      align: "end",
      cell: ({ label }) => (
        <span className={styles.tagActions}>
          <Button
            size="small"
            title="Only tokens with the scope publish move a protected tag"
            disabled={protection.isRunning}
            onClick={() => void protect(label, !isProtected(label))}
          >
            {isProtected(label) ? "Unprotect" : "Protect"}
          </Button>
          <Button size="small" disabled={isRunning} onClick={() => void rollBack(label)}>
            Roll back
          </Button>
        </span>
      ),
    },
  ];
  return (
    <>
      {failure && <ErrorNotice error={failure} />}
      <Table label="Tags" columns={tags} rows={prompt.tags} keyOf={({ id }) => id} />
      <h2>History</h2>
      <Loaded result={result}>
        {(data) => (
          <Table
            label="History"
            columns={moves}
            rows={data.prompt?.tagHistory.nodes ?? []}
            keyOf={({ id }) => id}
          />
        )}
      </Loaded>
    </>
  );
}
