/** For `npm run mutate`. The tests of the APIs and of units notice changes; those that start programs take too long. */
export default {
  testRunner: "vitest",
  vitest: { configFile: "vitest.mutate.config.ts" },
  coverageAnalysis: "perTest",
  reporters: ["clear-text", "progress"],
  concurrency: 2,
  dryRunTimeoutMinutes: 60,
  timeoutMS: 30_000,
  // Most strings are descriptions, messages and names: the tests of the schema and of the documents compare these.
  mutator: { excludedMutations: ["StringLiteral"] },
  tsconfigFile: "none", // StrykerJS would rewrite it with an API that TypeScript 7 no longer has
};
