import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { findBinaries } from "./test/support/postgresServer.ts";

/**
 * What needs no database, is about SQLite itself (its files, its locks, the programs that work on its files), or shows that a search
 * for faults finds one.
 */
const notOnPostgresql = [
  ...["architecture", "browser", "cli", "controls", "docs", "packaging", "sqlite", "unit"].map(
    (folder) => `test/${folder}/**`,
  ),
  // The files of others are read the same for any database; what is stored of them is in test/postgresql/programs.test.ts.
  "test/importers/!(repeated).test.ts",
  ...["compileCache", "workerProcesses"].map((name) => `test/security/${name}.test.ts`),
  // They are about connections, bodies, limits, answers and the process, before and after any statement, and take minutes of a processor.
  ...[
    ...["answerErrors", "answerMemory", "brokenOffBodies", "chunkedBodies", "clientForms", "goneClients"],
    ...["grpcLimits", "idleConnections", "largeBodies", "limiter", "longInputs", "mergedFields"],
    ...["otlpBodies", "pipelining", "rateLimits", "repeatedVariables", "sizeLimits", "slowReaders"],
    ...["stalls", "subscriptionLimits", "unreadAnswers", "unreadBodyPlaces", "uploadPlaces"],
  ].map((name) => `test/security/${name}.test.ts`),
  ...["followedPrompt", "forgottenPromise", "overload", "shutdown"].map(
    (name) => `test/reliability/${name}.test.ts`,
  ),
  ...[
    ...["compression", "deprecations", "graphqlOverHttp", "homePage", "httpCaching", "introspection"],
    ...["openapi", "otlpExporters", "otlpGrpc"],
  ].map((name) => `test/api/${name}.test.ts`),
];

const include = ["test/**/*.test.ts"];

/** The tools of front ends weigh 200 MB and need graphql 16, so they are installed apart. */
const hasFrontEnds = existsSync(new URL("test/support/frontEnds/node_modules", import.meta.url));
const frontEnds = hasFrontEnds ? [] : ["test/architecture/frontEnds.test.ts"];
if (!hasFrontEnds)
  console.warn(
    "Left out until `npm ci --prefix test/support/frontEnds`: tests with the tools of front ends.",
  );

/** What must be the first to use a part of the program: it ends threads that it has seen start. */
const apart = ["test/unit/tokenCounting.test.ts"];

// It kills and promotes servers of its own, so one that is named serves it nothing.
const needsBinaries = findBinaries() ? [] : ["test/postgresql/cluster.test.ts"];
if (needsBinaries.length > 0) console.warn(`Left out without the PostgreSQL of npm: ${needsBinaries}`);

const postgresql = {
  extends: true as const,
  test: {
    name: "postgresql",
    include,
    exclude: [...notOnPostgresql, ...needsBinaries],
    globalSetup: ["test/support/postgresSetup.ts"],
  },
} satisfies TestProjectInlineConfiguration;

const hasPostgresql = Boolean(process.env.TEST_POSTGRES_URL || findBinaries());
if (!hasPostgresql) {
  console.warn(
    `There is no PostgreSQL for ${process.platform}-${process.arch} in node_modules: its tests are left out. Name a server with TEST_POSTGRES_URL.`,
  );
}

export default defineConfig({
  // Vite would pick graphql's "development" build for our imports while Node gives Pothos the other one: two realms.
  ssr: { resolve: { conditions: ["module-sync", "node"] } },
  test: {
    pool: "forks",
    // Each file has its own server and database; the program itself is loaded once for many of them.
    isolate: false,
    // Many files wait for other programs: three at a time leave a quarter of two cores idle.
    maxWorkers: Math.max(4, availableParallelism() - 1),
    // For a hanging test only: a busy machine may take long for any.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    tags: [{ name: "slow", description: "Takes seconds; `npm run test:fast` leaves it out." }],
    projects: [
      {
        extends: true,
        test: {
          name: "sqlite",
          include,
          exclude: ["test/postgresql/**", ...frontEnds, ...apart],
          globalSetup: ["test/support/chromiumSetup.ts", "test/support/sqliteSetup.ts"],
          provide: { postgresql: null },
        },
      },
      {
        extends: true,
        test: { name: "apart", include: apart, isolate: true, provide: { postgresql: null } },
      },
      ...(hasPostgresql ? [postgresql] : []),
    ],
  },
});
