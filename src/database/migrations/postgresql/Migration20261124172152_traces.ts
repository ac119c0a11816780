import { Migration } from "@mikro-orm/migrations";

export class Migration20261124172152_traces extends Migration {
  override name = "Migration20261124172152_traces";

  override up(): void | Promise<void> {
    this.addSql(
      `create table "experiments" ("id" uuid not null, "workspace_id" uuid not null, "feature_slug" text collate "C" not null, "name" text collate "C" not null, "created_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(`create index "experiments_workspace_id_id_index" on "experiments" ("workspace_id", "id");`);

    this.addSql(
      `alter table "traces" add "root_id" uuid null, add "sample_rate" double precision null, add "external_id" text collate "C" null, add "session_id" text collate "C" null, add "environment" text collate "C" null, add "experiment_id" text collate "C" null, add "feature_slug" text collate "C" null, add "evaluators" text null, add "ideal_output" text null, add "input" text null, add "output" text null;`,
    );

    this.addSql(`alter table "logs" drop constraint "logs_type_check";`);
    this.addSql(`alter table "logs" drop constraint "logs_cost_source_check";`);
    this.addSql(
      `alter table "logs" add constraint "logs_cost_source_check" check ("cost_source" in ('REPORTED', 'COMPUTED', 'UNPRICED', 'NONE'));`,
    );
    this.addSql(
      `alter table "logs" add "status_message" text collate "C" null, add "evaluators" text null, add "aggregate_usage" text null, add "attributes" text null, add "events" text null, add "time_to_first_token_ms" double precision null, add "status" text null, add "external_id" text collate "C" null, add "parent_external_id" text collate "C" null, add "remote_parent_id" text collate "C" null, add "response_id" text collate "C" null, add "name" text collate "C" null, add "cache_read_tokens" int null, add "cache_write_tokens" int null, add "reasoning_tokens" int null;`,
    );
    this.addSql(`alter table "logs" alter column "output" drop not null;`);
    this.addSql(`alter table "logs" alter column "prompt_slug" drop not null;`);
    this.addSql(`alter table "logs" add constraint "logs_status_check" check ("status" in ('ok', 'error'));`);
    this.addSql(
      `alter table "logs" add constraint "logs_type_check" check ("type" in ('generation', 'span', 'function', 'tool', 'retrieval', 'event', 'agent', 'embedding', 'evaluator', 'guardrail', 'internal'));`,
    );
    this.sumUp(
      `"prompt_slug", "version", "model", "user_id", "organization_id", "latency_ms", "input_tokens", "output_tokens", "cost", "cost_source", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"`,
    );

    this.addSql(
      `alter table "experiments" add constraint "experiments_workspace_id_foreign" foreign key ("workspace_id") references "workspaces" ("id");`,
    );
  }

  /** The index for sums. */
  private sumUp(columns: string): void {
    this.addSql(`drop index "logs_summed";`);
    this.addSql(
      `create index "logs_summed" on "logs" ("workspace_id", "start_time", "id") include (${columns}) where coalesce(octet_length("prompt_slug"), 0) + coalesce(octet_length("version"), 0) + coalesce(octet_length("model"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("organization_id"), 0) <= 2000;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "experiments" cascade;`);

    this.sumUp(
      `"prompt_slug", "version", "model", "user_id", "organization_id", "latency_ms", "input_tokens", "output_tokens", "cost", "cost_source"`,
    );
    this.addSql(`alter table "logs" drop constraint "logs_status_check";`);
    this.addSql(`alter table "logs" drop constraint "logs_type_check";`);
    this.addSql(
      `alter table "logs" drop column "status_message", drop column "evaluators", drop column "aggregate_usage", drop column "attributes", drop column "events", drop column "time_to_first_token_ms", drop column "status", drop column "external_id", drop column "parent_external_id", drop column "remote_parent_id", drop column "response_id", drop column "name", drop column "cache_read_tokens", drop column "cache_write_tokens", drop column "reasoning_tokens";`,
    );
    this.addSql(
      `delete from "logs" where "type" <> 'generation' or "prompt_slug" is null or "output" is null;`,
    );
    this.addSql(`alter table "logs" alter column "prompt_slug" set not null;`);
    this.addSql(`alter table "logs" alter column "output" set not null;`);
    this.addSql(`alter table "logs" add constraint "logs_type_check" check ("type" in ('generation'));`);
    this.addSql(`alter table "logs" drop constraint "logs_cost_source_check";`);
    this.addSql(
      `alter table "logs" add constraint "logs_cost_source_check" check ("cost_source" in ('REPORTED', 'COMPUTED', 'UNPRICED'));`,
    );

    this.addSql(
      `alter table "traces" drop column "root_id", drop column "external_id", drop column "session_id", drop column "environment", drop column "sample_rate", drop column "experiment_id", drop column "feature_slug", drop column "evaluators", drop column "ideal_output", drop column "input", drop column "output";`,
    );
  }
}
