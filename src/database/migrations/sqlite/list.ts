import { Migration20261121000000_initial } from "./Migration20261121000000_initial.ts";
import { Migration20261121010000_authoring } from "./Migration20261121010000_authoring.ts";
import { Migration20261121080000_monitoring } from "./Migration20261121080000_monitoring.ts";
import { Migration20261121140000_idempotency } from "./Migration20261121140000_idempotency.ts";
import { Migration20261121150000_words } from "./Migration20261121150000_words.ts";
import { Migration20261122142354_deleted_datasets } from "./Migration20261122142354_deleted_datasets.ts";
import { Migration20261123020000_narrow_first } from "./Migration20261123020000_narrow_first.ts";
import { Migration20261123123137_deleted_prompts } from "./Migration20261123123137_deleted_prompts.ts";
import { Migration20261124080842_prompt_messages } from "./Migration20261124080842_prompt_messages.ts";
import { Migration20261124104902_dataset_versions } from "./Migration20261124104902_dataset_versions.ts";
import { Migration20261124172152_traces } from "./Migration20261124172152_traces.ts";
import { Migration20261124202808_console_sessions } from "./Migration20261124202808_console_sessions.ts";
import { Migration20261124203121_files } from "./Migration20261124203121_files.ts";
import { Migration20261124210000_rejected_items } from "./Migration20261124210000_rejected_items.ts";
import { Migration20261125004153_failed_logs } from "./Migration20261125004153_failed_logs.ts";
import { Migration20261125005414_version_source } from "./Migration20261125005414_version_source.ts";
import { Migration20261125214500_removed_words } from "./Migration20261125214500_removed_words.ts";
import { Migration20261126141825_narrow_rows } from "./Migration20261126141825_narrow_rows.ts";
import { Migration20261127020000_lists_by_id } from "./Migration20261127020000_lists_by_id.ts";
import { Migration20261129102331_reported_usage } from "./Migration20261129102331_reported_usage.ts";
import { Migration20261130071500_lookups_by_id } from "./Migration20261130071500_lookups_by_id.ts";
import { Migration20261130144900_sessions_by_token } from "./Migration20261130144900_sessions_by_token.ts";

/** The migrations of SQLite in their order; `npm run migration -- NAME` writes the next one, which is then added here. */
export const sqliteMigrations = [
  { name: "Migration20261121000000_initial", class: Migration20261121000000_initial },
  { name: "Migration20261121010000_authoring", class: Migration20261121010000_authoring },
  { name: "Migration20261121080000_monitoring", class: Migration20261121080000_monitoring },
  { name: "Migration20261121140000_idempotency", class: Migration20261121140000_idempotency },
  { name: "Migration20261121150000_words", class: Migration20261121150000_words },
  { name: "Migration20261122142354_deleted_datasets", class: Migration20261122142354_deleted_datasets },
  { name: "Migration20261123020000_narrow_first", class: Migration20261123020000_narrow_first },
  { name: "Migration20261123123137_deleted_prompts", class: Migration20261123123137_deleted_prompts },
  { name: "Migration20261124080842_prompt_messages", class: Migration20261124080842_prompt_messages },
  { name: "Migration20261124104902_dataset_versions", class: Migration20261124104902_dataset_versions },
  { name: "Migration20261124172152_traces", class: Migration20261124172152_traces },
  { name: "Migration20261124202808_console_sessions", class: Migration20261124202808_console_sessions },
  { name: "Migration20261124203121_files", class: Migration20261124203121_files },
  { name: "Migration20261124210000_rejected_items", class: Migration20261124210000_rejected_items },
  { name: "Migration20261125004153_failed_logs", class: Migration20261125004153_failed_logs },
  { name: "Migration20261125005414_version_source", class: Migration20261125005414_version_source },
  { name: "Migration20261125214500_removed_words", class: Migration20261125214500_removed_words },
  { name: "Migration20261126141825_narrow_rows", class: Migration20261126141825_narrow_rows },
  { name: "Migration20261127020000_lists_by_id", class: Migration20261127020000_lists_by_id },
  { name: "Migration20261129102331_reported_usage", class: Migration20261129102331_reported_usage },
  { name: "Migration20261130071500_lookups_by_id", class: Migration20261130071500_lookups_by_id },
  { name: "Migration20261130144900_sessions_by_token", class: Migration20261130144900_sessions_by_token },
];
