import { useSave } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Confirm } from "../../parts/Confirm.tsx";
import { useToast } from "../../parts/Toast.tsx";
import { PublishPrompt } from "./Publish.tsx";

const RemoveTag = graphql(`
  mutation RemoveTag($slug: String!, $tag: String!) {
    removePromptTag(slug: $slug, input: { tag: $tag }) {
      prompt {
        id
      }
    }
  }
`);

interface Props {
  slug: string;
  tag: string;
  /** The version that the tag points to now. */
  from: string;
  /** The version before its last move; null when it was new then. */
  to: string | null;
  onClose: () => void;
}

/** Asks, and points a tag to the version before its last move by name: rolled back twice, it would point forward again. */
export function RollBack({ slug, tag, from, to, onClose }: Props) {
  const publish = useSave(PublishPrompt);
  const remove = useSave(RemoveTag);
  const toast = useToast();
  const confirm = async () => {
    const data = await (to === null ? remove.run({ slug, tag }) : publish.run({ slug, tag, version: to }));
    if (!data) return;
    toast(to === null ? `${tag} is gone again` : `${tag} points to ${to} again`);
    onClose();
  };
  return (
    <Confirm
      title={`${tag}: ${from} → ${to ?? "removed"}?`}
      verb="Roll back"
      error={publish.error ?? remove.error}
      isRunning={publish.isRunning || remove.isRunning}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      {to === null
        ? `The last move made the tag ${tag}: there is no version before it, so this removes the tag.`
        : `Applications that ask for ${tag} get ${to} from the next call on.`}
    </Confirm>
  );
}
