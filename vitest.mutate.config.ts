import { defineConfig } from "vitest/config";
import base from "./vitest.config.ts";

/** For `npm run mutate`: one project, as StrykerJS takes no more. */
export default defineConfig({
  ssr: { ...base.ssr },
  test: {
    include: ["test/api/**/*.test.ts", "test/unit/**/*.test.ts"],
    provide: { postgresql: null },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
