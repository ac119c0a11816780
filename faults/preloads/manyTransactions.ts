import { registerHooks } from "node:module";
import "./slowDisk.ts";

// For a control that must fail: each request is stored in a transaction of its own.
const BOUND = "MAX_TRANSACTION_REQUESTS = 200";
registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    if (!url.endsWith("/database/commitLanes.ts")) return loaded;
    const source = String(loaded.source);
    if (!source.includes(BOUND)) throw new Error(`There is no ${BOUND} to change.`);
    return { ...loaded, source: source.replace(BOUND, BOUND.replace("200", "1")) };
  },
});
