import { type ReactNode, useState } from "react";
import { useData, useSave } from "../../data.ts";
import type { TagHistoryQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { Badge, TagBadge } from "../../parts/Badge.tsx";
import { Button } from "../../parts/Button.tsx";
import { Confirm } from "../../parts/Confirm.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty, ErrorNotice } from "../../parts/Notice.tsx";
import { type Column, Table } from "../../parts/Table.tsx";
import { Time } from "../../parts/Time.tsx";
import { useToast } from "../../parts/Toast.tsx";
import styles from "./Prompt.module.css";
import type { PromptHeadOf } from "./queries.ts";
import { RollBack } from "./RollBack.tsx";

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

type Tag = PromptHeadOf["tags"][number];

/** Where each tag points, how to point it back, and who moved which when. */
export function Tags({ prompt }: { prompt: PromptHeadOf }) {
  const { slug, tags, protectedTags } = prompt;
  const result = useData(TagHistory, { slug });
  const history = result.data?.prompt?.tagHistory.nodes ?? [];
  const protection = useSave(SetProtection);
  const [unprotecting, setUnprotecting] = useState<string | null>(null);
  const [rollingBack, setRollingBack] = useState<{ tag: string; from: string; to: string | null } | null>(
    null,
  );
  const toast = useToast();
  const protect = async (tag: string, isProtected: boolean) => {
    if (!(await protection.run({ slug, tag, protected: isProtected }))) return;
    setUnprotecting(null);
    toast(isProtected ? `${tag} needs the scope publish now` : `${tag} is not protected any more`);
  };
  if (tags.length === 0 && history.length === 0)
    return (
      <Empty title="No tags yet">
        Publish a version with the tag production, and applications get it from the next call on.
      </Empty>
    );
  const actionsOf = ({ label, version }: Tag) => {
    const last = history.find(({ tag }) => tag === label);
    const isProtected = protectedTags.includes(label);
    return (
      <span className={styles.tagActions}>
        <Button
          size="small"
          title="Only tokens with the scope publish move a protected tag"
          disabled={protection.isRunning}
          onClick={() => (isProtected ? setUnprotecting(label) : void protect(label, true))}
        >
          {isProtected ? "Unprotect" : "Protect"}
        </Button>
        <Button
          size="small"
          title={last ? undefined : "Its last move is not among the 100 latest"}
          disabled={!last}
          onClick={() => setRollingBack({ tag: label, from: version, to: last?.from ?? null })}
        >
          Roll back
        </Button>
      </span>
    );
  };
  return (
    <>
      {protection.error && !unprotecting && <ErrorNotice error={protection.error} />}
      <Table label="Tags" columns={columnsOf(protectedTags, actionsOf)} rows={tags} keyOf={({ id }) => id} />
      <h2>History</h2>
      <Loaded result={result}>
        {() => <Table label="History" columns={moves} rows={history} keyOf={({ id }) => id} />}
      </Loaded>
      {rollingBack && <RollBack slug={slug} {...rollingBack} onClose={() => setRollingBack(null)} />}
      {unprotecting && (
        <Confirm
          title={`Unprotect ${unprotecting}?`}
          verb="Unprotect"
          error={protection.error}
          isRunning={protection.isRunning}
          onConfirm={() => void protect(unprotecting, false)}
          onClose={() => setUnprotecting(null)}
        >
          Then tokens with the scope write move it, too.
        </Confirm>
      )}
    </>
  );
}

const columnsOf = (protectedTags: string[], actionsOf: (tag: Tag) => ReactNode): Column<Tag>[] => [
  {
    name: "Tag",
    cell: ({ label }) => (
      <>
        <TagBadge label={label} /> {protectedTags.includes(label) && <Badge tone="warn">protected</Badge>}
      </>
    ),
  },
  { name: "Version", isWide: true, cell: ({ version }) => version },
  { name: "Action", align: "end", cell: actionsOf },
];
