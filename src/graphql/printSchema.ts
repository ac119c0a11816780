import { printedSchema } from "../schema.ts";

// npm run schema: prints what schema.graphql must hold.
process.stdout.write(printedSchema());
