import { expect, test } from "vitest";
import { loadConfig } from "../../src/config.ts";

test.each(["GABBRO_TOKEN", "METRICS_TOKEN"])("%s has at least 24 characters", (name) => {
  const { firstToken, metricsToken } = loadConfig({ [name]: "x".repeat(24) });
  expect([firstToken, metricsToken]).toContain("x".repeat(24));
  expect(() => loadConfig({ [name]: "x".repeat(23) })).toThrow(`${name} must have at least 24 characters`);
  expect(() => loadConfig({ [name]: ` ${"x".repeat(23)} ` })).toThrow(name);
});

test.each(["", " ", "\t\n"])("a setting of nothing but %j counts as absent", (value) => {
  const names = ["PORT", "OTLP_GRPC_PORT", "DRAIN_SECONDS", "DATABASE_URL", "HOST", "GABBRO_TOKEN"];
  expect(loadConfig(Object.fromEntries(names.map((name) => [name, value])))).toEqual(loadConfig({}));
});
