import { defineConfig } from "vitest/config";

export default defineConfig({
  // Vite would pick graphql's "development" build for our imports while Node gives Pothos the other one: two realms.
  ssr: { resolve: { conditions: ["module-sync", "node"] } },
  test: { pool: "forks", include: ["test/**/*.test.ts"], testTimeout: 30_000, hookTimeout: 30_000 },
});
