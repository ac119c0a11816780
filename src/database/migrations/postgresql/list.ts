import { Migration20261121120000_initial } from "./Migration20261121120000_initial.ts";
import { Migration20261121130000_sums } from "./Migration20261121130000_sums.ts";
import { Migration20261121140000_idempotency } from "./Migration20261121140000_idempotency.ts";
import { Migration20261122142354_deleted_datasets } from "./Migration20261122142354_deleted_datasets.ts";
import { Migration20261123123137_deleted_prompts } from "./Migration20261123123137_deleted_prompts.ts";
import { Migration20261124080842_prompt_messages } from "./Migration20261124080842_prompt_messages.ts";
import { Migration20261124104902_dataset_versions } from "./Migration20261124104902_dataset_versions.ts";
import { Migration20261124172152_traces } from "./Migration20261124172152_traces.ts";
import { Migration20261124202809_console_sessions } from "./Migration20261124202809_console_sessions.ts";
import { Migration20261124203121_files } from "./Migration20261124203121_files.ts";
import { Migration20261124210000_rejected_items } from "./Migration20261124210000_rejected_items.ts";
import { Migration20261125004153_failed_logs } from "./Migration20261125004153_failed_logs.ts";
import { Migration20261125005415_version_source } from "./Migration20261125005415_version_source.ts";
import { Migration20261126141826_narrow_rows } from "./Migration20261126141826_narrow_rows.ts";
import { Migration20261126224500_shared_indexes } from "./Migration20261126224500_shared_indexes.ts";
import { Migration20261127020000_lists_by_id } from "./Migration20261127020000_lists_by_id.ts";
import { Migration20261127021000_words_of_workspaces } from "./Migration20261127021000_words_of_workspaces.ts";
import { Migration20261129102332_reported_usage } from "./Migration20261129102332_reported_usage.ts";
import { Migration20261130143500_words_at_once } from "./Migration20261130143500_words_at_once.ts";
import { Migration20261130191000_no_statistics_of_words } from "./Migration20261130191000_no_statistics_of_words.ts";
import { Migration20261130224500_types_in_sums } from "./Migration20261130224500_types_in_sums.ts";

/** The migrations of PostgreSQL in their order; `npm run migration -- NAME` writes the next one, which is then added here. */
export const postgresqlMigrations = [
  { name: "Migration20261121120000_initial", class: Migration20261121120000_initial },
  { name: "Migration20261121130000_sums", class: Migration20261121130000_sums },
  { name: "Migration20261121140000_idempotency", class: Migration20261121140000_idempotency },
  { name: "Migration20261122142354_deleted_datasets", class: Migration20261122142354_deleted_datasets },
  { name: "Migration20261123123137_deleted_prompts", class: Migration20261123123137_deleted_prompts },
  { name: "Migration20261124080842_prompt_messages", class: Migration20261124080842_prompt_messages },
  { name: "Migration20261124104902_dataset_versions", class: Migration20261124104902_dataset_versions },
  { name: "Migration20261124172152_traces", class: Migration20261124172152_traces },
  { name: "Migration20261124202809_console_sessions", class: Migration20261124202809_console_sessions },
  { name: "Migration20261124203121_files", class: Migration20261124203121_files },
  { name: "Migration20261124210000_rejected_items", class: Migration20261124210000_rejected_items },
  { name: "Migration20261125004153_failed_logs", class: Migration20261125004153_failed_logs },
  { name: "Migration20261125005415_version_source", class: Migration20261125005415_version_source },
  { name: "Migration20261126141826_narrow_rows", class: Migration20261126141826_narrow_rows },
  { name: "Migration20261126224500_shared_indexes", class: Migration20261126224500_shared_indexes },
  { name: "Migration20261127020000_lists_by_id", class: Migration20261127020000_lists_by_id },
  { name: "Migration20261127021000_words_of_workspaces", class: Migration20261127021000_words_of_workspaces },
  { name: "Migration20261129102332_reported_usage", class: Migration20261129102332_reported_usage },
  { name: "Migration20261130143500_words_at_once", class: Migration20261130143500_words_at_once },
  {
    name: "Migration20261130191000_no_statistics_of_words",
    class: Migration20261130191000_no_statistics_of_words,
  },
  { name: "Migration20261130224500_types_in_sums", class: Migration20261130224500_types_in_sums },
];
