import { defineConfig } from "vitest/config";
import base from "./vitest.config.ts";

const tests =
  process.env.MUTATE_TESTS || "test/api/**/*.test.ts,test/unit/**/*.test.ts,test/architecture/schema.test.ts";

/** For `npm run mutate`: one project, as StrykerJS takes no more. */
export default defineConfig({
  ssr: { ...base.ssr },
  test: {
    include: tests.split(","),
    tags: base.test?.tags ?? [],
    isolate: false, // or each file of tests would load the whole program, for each change
    provide: { postgresql: null },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
