import { type DocumentNode, type ExecutionResult, execute, getOperationAST, subscribe } from "graphql";
import { createYoga, type Plugin } from "graphql-yoga";
import type { Context } from "../context.ts";
import { MAX_ANSWER_FIELDS } from "../limits/answerBudget.ts";
import { disableDeadline } from "../limits/deadline.ts";
import { schema } from "../schema.ts";
import { isLarge, measuredEvent, measuredResult } from "./answerSize.ts";
import { costOf, refusalOfCost } from "./cost.ts";
import { deprecatedIn } from "./deprecations.ts";
import { type DocumentCache, EXECUTION_OPTIONS, useDocuments } from "./documents.ts";
import { type ErrorContext, useErrors } from "./errors.ts";
import { useInputObjects } from "./inputObjects.ts";
import { refusalOfSize } from "./subscriptionSize.ts";
import { topFieldOf } from "./topField.ts";
import { writtenInTurns } from "./writtenResult.ts";

export interface ServerContext extends Context, ErrorContext {
  /** Whether the caller asked for the cost of the operation, by the header `Gabbro-Cost`. */
  reportsCost: boolean;
}

/** Yoga with every guard of a GraphQL request as a plugin: its limits, its cost, its errors. */
export function createGraphqlServer(documents: DocumentCache) {
  return createYoga<ServerContext>({
    schema,
    // Fastify does these: it reads and limits bodies, serves the playground, and handles CORS.
    maxRequestBodySize: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    logging: false,
    maskedErrors: false, // useErrors does it, as it needs the request
    parserAndValidationCache: false, // it would cache errors, whose stacks fill the memory
    plugins: [
      useDocuments(documents),
      useOperation,
      useGraphqlExecution,
      useInputObjects,
      useCost,
      useErrors,
      useTurns,
    ],
  });
}

export type GraphqlServer = ReturnType<typeof createGraphqlServer>;

/** Executes as graphql-js does. Yoga's own executor treats every object with a member `then` as a promise, even in stored JSON. */
const useGraphqlExecution: Plugin = {
  onExecute: ({ setExecuteFn }) => setExecuteFn((args) => execute({ ...args, ...EXECUTION_OPTIONS })),
  onSubscribe: ({ setSubscribeFn }) => setSubscribeFn((args) => subscribe({ ...args, ...EXECUTION_OPTIONS })),
};

/** Has a large answer written in other turns of the event loop than those that execute and measure it. */
const useTurns: Plugin<ServerContext, ServerContext> = {
  onResultProcess: async ({ result, setResult, serverContext }) => {
    if ("data" in result && isLarge(result)) setResult(await writtenInTurns(result, serverContext));
  },
};

/** Records the root field of a valid operation and what it uses of what is deprecated, for metrics and a header. */
const useOperation: Plugin<ServerContext> = {
  onValidate:
    ({ context, params, extendContext }) =>
    ({ valid }) => {
      if (!valid) return;
      const document: DocumentNode = params.documentAST;
      const operation = getOperationAST(document, context.params?.operationName);
      extendContext({
        ...(operation && { topField: topFieldOf(operation) }),
        deprecated: deprecatedIn(document),
      });
    },
};

/** Refuses operations whose answers could be too large, and answers that are too large. Reports the cost on request. */
const useCost: Plugin<ServerContext, ServerContext> = {
  onExecute({ args, setResultAndStopExecution }) {
    const { contextValue, variableValues } = args;
    const document = args.document as DocumentNode;
    const operation = getOperationAST(document, args.operationName);
    if (!operation) return;
    const cost = costOf(schema, document, operation, variableValues);
    const refusal = refusalOfCost(operation, cost);
    if (refusal) setResultAndStopExecution({ errors: [refusal] });
    return {
      onExecuteDone({ result, setResult }) {
        const extensions = { cost: { maxFields: cost, limit: MAX_ANSWER_FIELDS } };
        const set = (answer: ExecutionResult) =>
          setResult(contextValue.reportsCost ? { ...answer, extensions } : answer);
        const measured = measuredResult(result as ExecutionResult, operation, contextValue);
        return measured instanceof Promise ? measured.then(set) : set(measured);
      },
    };
  },
  onSubscribe({ args, setResultAndStopExecution }) {
    const { operationName, contextValue, variableValues } = args;
    const document = args.document as DocumentNode;
    const operation = getOperationAST(document, operationName)!;
    const cost = costOf(schema, document, operation, variableValues); // of each event
    const parameters = [variableValues, contextValue.params?.extensions];
    const refusal = refusalOfCost(operation, cost) ?? refusalOfSize(document, parameters);
    if (refusal) return setResultAndStopExecution({ errors: [refusal] });
    disableDeadline(contextValue); // it ends with its subscriber
    contextValue.isSubscription = true;
    return {
      onSubscribeResult: () => ({
        onNext: ({ result, setResult }) => {
          setResult(measuredEvent(result, operation, contextValue));
          contextValue.endEvent?.();
        },
      }),
    };
  },
};
