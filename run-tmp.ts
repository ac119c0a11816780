import { lookForSecrets } from "./torture/secrets.ts";
import { rmSync } from "node:fs";
for (const f of ["", "-wal", "-shm"]) rmSync(`/tmp/isolation-s.sqlite${f}`, { force: true });
console.time("t");
console.log(await lookForSecrets({ databaseUrl: process.argv[3] ?? "sqlite:/tmp/isolation-s.sqlite", preload: process.argv[2] || undefined }));
console.timeEnd("t");
