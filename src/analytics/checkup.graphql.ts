import { builder } from "../graphql/builder.ts";
import { type Checkup, checkup, type Finding } from "./checkup.resolvers.ts";

/** More of them say little more. */
const MAX_FINDINGS = 100;

const FindingType = builder.objectRef<Finding>("Finding").implement({
  description: "Something that needs attention.",
  fields: (t) => ({
    problem: t.exposeString("problem", {
      description:
        "What is wrong: a sentence that names the client, the token or the model. It has text of callers.",
    }),
    advice: t.exposeString("advice", { description: "What to do about it." }),
  }),
});

const CheckupType = builder.objectRef<Checkup>("Checkup").implement({
  description: "What needs attention in a workspace, as `gabbro doctor` prints it.",
  fields: (t) => ({
    findings: t.field({
      type: [FindingType],
      description: `What needs attention: at most ${MAX_FINDINGS}, first those of tokens, then what was rejected, the most frequent first, then models without a price. Empty when all is well.`,
      resolve: ({ findings }) => findings.slice(0, MAX_FINDINGS),
    }),
    findingCount: t.int({
      description: `How many there are, also beyond the ${MAX_FINDINGS} of \`findings\`.`,
      resolve: ({ findings }) => findings.length,
    }),
    newestStartTime: t.expose("lastTraceAt", {
      type: "DateTime",
      nullable: true,
      description: "When the newest trace of the workspace began; null when there is none.",
    }),
  }),
});

builder.queryField("checkup", (t) =>
  t.field({
    type: CheckupType,
    description:
      "What needs attention in the workspace, and what to do about it: tokens, what was rejected within a day, and models of that day without a price, among the 100 with the most calls. Reads all tokens that were not revoked, up to 1,000 rejected items and, twice, as `usage` does, the logs of a day in an index; other requests run in between. Needs the scopes `read` and `admin`.",
    resolve: (_, __, context) => checkup(context),
  }),
);
