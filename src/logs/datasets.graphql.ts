import { DatasetRow, storedItemFields } from "../datasets/graphql.ts";
import type { StoredItem } from "../datasets/resolvers.ts";
import { argumentsOf, builder, inputTypeOf } from "../graphql/builder.ts";
import { payloadType } from "../graphql/payloads.ts";
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

const LogColumnInput = inputTypeOf("LogColumnInput", logColumn, { from: LogPart });
const AddLogToDatasetInput = inputTypeOf("AddLogToDatasetInput", addLogToDatasetInput.shape.input, {
  logId: "ID",
  columns: [LogColumnInput],
});

builder.mutationField("addLogToDataset", (t) =>
  t.field({
    type: payloadType<StoredItem>("AddLogToDatasetPayload", {
      description: "The row that was made.",
      fields: storedItemFields,
    }),
    description:
      "Makes a row of a dataset out of a logged call and links it to its log; an error `LOG_NOT_FOUND` or `DATASET_NOT_FOUND` when there is none. Needs `read` and `write`.",
    args: argumentsOf(t, addLogToDatasetInput, { input: AddLogToDatasetInput }),
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
