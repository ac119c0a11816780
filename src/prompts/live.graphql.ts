import { argumentsOf, builder } from "../graphql/builder.ts";
import { describePromptInput } from "./inputs.ts";
import { type PromptChange, promptChanged } from "./live.resolvers.ts";

const PromptChangeType = builder.objectRef<PromptChange>("PromptChange").implement({
  description: "A change of a prompt, or its present state.",
  fields: (t) => ({
    action: t.exposeString("action", {
      nullable: true,
      description:
        "The operation that changed it, such as `publishPrompt`, as in the audit log; null when this is the present state.",
    }),
    tag: t.exposeString("tag", {
      nullable: true,
      description:
        "The tag that was moved, `latest` for a new version; null when none was. Of the present state the tag by which the prompt serves.",
    }),
    version: t.exposeString("version", {
      nullable: true,
      description: "The version that the tag points to now; null when there is none.",
    }),
    etag: t.exposeString("etag", {
      nullable: true,
      description: "The `ETag` that `GET /prompts/{slug}` has now; null when no version serves.",
    }),
  }),
});

builder.subscriptionField("promptChanged", (t) =>
  t.field({
    type: PromptChangeType,
    description:
      "The present state of a prompt, then each of its changes from now on, once it is stored. Where changes may have been missed, the present state follows again. It ends when the prompt is deleted, after an hour, within a second of its token's end, and when the service stops; listen again then. A listener that falls 16 changes behind gets the present state in place of further ones. A token may have 500 such subscriptions open at a time, and so may a workspace. Needs the scope `read`. May give `PROMPT_NOT_FOUND`.",
    args: argumentsOf(t, describePromptInput.pick({ slug: true })),
    subscribe: (_, args, context) => promptChanged(context, args),
    resolve: (change) => change,
  }),
);
