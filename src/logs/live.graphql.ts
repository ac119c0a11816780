import { argumentsOf, builder } from "../graphql/builder.ts";
import { logAddedInput, traceInput } from "./inputs.ts";
import { logAdded, traceChanged } from "./live.resolvers.ts";
import { Log } from "./types.ts";

builder.subscriptionField("logAdded", (t) =>
  t.field({
    type: Log,
    description:
      "Each log that is added from now on, once it is stored. It ends after an hour, within a second of its token's end, when the service stops, when the listener falls a thousand logs behind, and, on PostgreSQL, when its gateway may have missed logs of other gateways; listen again then. What is read for one event has at most 1 MB: ask for a larger log with `log`. A token may have 20 subscriptions open at a time, a workspace 100. Needs the scope `read`.",
    args: argumentsOf(t, logAddedInput),
    subscribe: (_, args, context) => logAdded(context, args),
    resolve: (log) => log,
  }),
);

builder.subscriptionField("traceChanged", (t) =>
  t.field({
    type: Log,
    description:
      "Each log that is added to a trace from now on, once it is stored: how a running agent goes on. A log that is sent again with more attributes comes again, too. Ends like `logAdded`. Needs the scope `read`. May give `TRACE_NOT_FOUND`.",
    args: argumentsOf(t, traceInput, { id: "ID" }),
    subscribe: (_, args, context) => traceChanged(context, args),
    resolve: (log) => log,
  }),
);
