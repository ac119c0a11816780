import { expect, test } from "vitest";
import { killExporters } from "../../faults/killExporters.ts";
import { newDatabase } from "../support/bareDatabase.ts";

// The long form: npm run faults -- kill-exporters
const TIMEOUT_MS = 120_000;

test(
  "a gateway that is killed under 32 exporters of OpenTelemetry loses and doubles no span that one calls exported",
  async () => {
    await using database = await newDatabase();
    const { acknowledged, repeated: _, ...found } = await killExporters(database, { cycles: 2 });
    expect(found).toEqual({ cycles: 2, lost: [], doubled: [], faults: [] });
    expect(acknowledged).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
