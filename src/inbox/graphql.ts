import { argumentsOf, builder } from "../graphql/builder.ts";
import { connect, connectionType } from "../graphql/connections.ts";
import { findsNode, Node } from "../graphql/nodes.ts";
import { rejectedItemsInput } from "./inputs.ts";
import { findRejectedItem, type Rejected, rejectedItems } from "./resolvers.ts";

const RejectedItem = builder.objectRef<Rejected>("RejectedItem").implement({
  description:
    "What a client sent and Gabbro did not take. Equal ones within a minute are one item; spans, log records and metrics of requests that succeed in part within a day. Kept for 7 days, at most 1,000 a workspace.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID." }),
    createdAt: t.expose("createdAt", { type: "DateTime", description: "When the first one came." }),
    endpoint: t.exposeString("endpoint", {
      description: "Where it was sent: method and route, such as `POST /monitor/log`.",
    }),
    client: t.exposeString("client", {
      nullable: true,
      description:
        "What sent it: the Basalt SDK and its version, or its `user-agent`; null when it did not say.",
    }),
    code: t.exposeString("code", {
      description:
        "What kind of error it was: an `ErrorCode`, or `PARTLY_REJECTED` for parts of a request of OpenTelemetry. A string, as stored items keep the codes of their day.",
    }),
    reason: t.exposeString("reason", { description: "Why it was rejected: the sentence of the error." }),
    sample: t.exposeString("sample", {
      nullable: true,
      description: "The first 500 characters of what was sent; null when it was rejected unread.",
    }),
    count: t.exposeInt("count", {
      description: "How many equal ones came within a minute, or within a day for `PARTLY_REJECTED`.",
    }),
  }),
});

findsNode(RejectedItem, "read", { find: findRejectedItem });

builder.queryFields((t) => ({
  rejectedItems: t.field({
    type: connectionType(RejectedItem, "rejected items"),
    description:
      "What clients sent by REST or as OpenTelemetry and Gabbro did not take, the newest first, within about a second.",
    args: argumentsOf(t, rejectedItemsInput),
    resolve: (_, args, context) =>
      connect(context, args, { read: (page) => rejectedItems(context, page), key: ({ id }) => id }),
  }),
}));
