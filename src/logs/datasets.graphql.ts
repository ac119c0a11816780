import { AddDatasetItemPayload, DatasetRow } from "../datasets/graphql.ts";
import { argumentsOf, builder } from "../graphql/builder.ts";
import { addLogToDataset, logOf } from "./datasets.resolvers.ts";
import { addLogToDatasetInput, logColumn } from "./inputs.ts";
import { Log } from "./types.ts";

const LogPart = builder.enumType("LogPart", {
  description: "A part of a logged call.",
  values: {
    INPUT: { value: "input", description: "What the model was given." },
    OUTPUT: { value: "output", description: "What the model answered." },
    IDEAL_OUTPUT: { value: "idealOutput", description: "What the model should have answered." },
    VARIABLE: { value: "variable", description: "What a variable of the prompt was filled with." },
  } as const,
});

const LogColumnInput = builder.inputType("LogColumnInput", {
  description: "Which part of a logged call goes into a column.",
  fields: (t) => ({
    column: t.string({ required: true, description: logColumn.shape.column.description }),
    from: t.field({ type: LogPart, required: true, description: logColumn.shape.from.description }),
    variable: t.string({ description: logColumn.shape.variable.description }),
  }),
});

builder.mutationField("addLogToDataset", (t) =>
  t.field({
    type: AddDatasetItemPayload,
    description:
      "Makes a row of a dataset out of a logged call and links it to its log. Needs `read` and `write`.",
    args: argumentsOf(t, addLogToDatasetInput, {
      logId: t.arg.id({ required: true, description: addLogToDatasetInput.shape.logId.description }),
      columns: t.arg({ type: [LogColumnInput], description: addLogToDatasetInput.shape.columns.description }),
    }),
    resolve: (_, args, context) => addLogToDataset(context, args),
  }),
);

builder.objectField(DatasetRow, "log", (t) =>
  t.field({
    type: Log,
    nullable: true,
    description: "The log that the row was made from; null when it was made otherwise, or the log is gone.",
    resolve: (row, _, context) => logOf(context, row),
  }),
);
