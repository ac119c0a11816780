import { isIP } from "node:net";
import { z } from "zod";
import { describeUrl, hostsOf } from "./database/urls.ts";
import { detailsOf } from "./validation/messages.ts";

export interface Config {
  databaseUrl: string;
  /** The most connections of this process to PostgreSQL. */
  poolSize: number;
  /** Servers that follow the PostgreSQL server, for reading. */
  replicaUrls: string[];
  /** Whether a start migrates the database. */
  migrateOnStart: boolean;
  host: string;
  port: number;
  /** The port at which OpenTelemetry is received by gRPC; null for none. */
  otlpGrpcPort: number | null;
  /** The token to make on a new database instead of a random one. */
  firstToken: string | null;
  /** Origins whose pages may call the APIs from a browser. */
  corsOrigins: string[];
  /** How long it still serves after SIGTERM, so that load balancers notice that it stops. */
  drainMs: number;
  /** How many days traces are kept; null for ever. */
  retentionDays: number | null;
  /** Requests a minute; null for no limit. */
  rateLimits: { perToken: number | null; perAddress: number | null };
  /** The addresses of proxies that are trusted to report the address of a caller. */
  trustedProxies: string[];
  /** The token to read the metrics with; null for no metrics. */
  metricsToken: string | null;
  /** Whether to serve GraphiQL and the page of the REST interface. */
  playground: boolean;
  /** Whether to serve the web console. */
  console: boolean;
  logLevel: (typeof logLevels)[number];
  /** Whether it runs as a script of npm, whose shell does not pass signals on. */
  isRunByNpm: boolean;
  /** Whether it runs by `npm run dev`, which serves the sources of the console themselves. */
  isRunByDev: boolean;
}

const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
const MIN_TOKEN_CHARACTERS = 24;
const MAX_RETENTION_DAYS = 36_500;

const environment = z
  .object({
    DATABASE_URL: z
      .string()
      .refine(isDatabaseUrl, {
        error:
          "must be sqlite:PATH, such as sqlite:data/gabbro.sqlite, or postgresql://USER:PASSWORD@HOST:PORT/NAME",
      })
      .default("sqlite:data/gabbro.sqlite"),
    DATABASE_POOL_SIZE: z.coerce
      .number({ error: "must be a number of connections" })
      .int()
      .min(2)
      .max(1_000)
      .default(10),
    DATABASE_REPLICA_URLS: z
      .string()
      .default("")
      .transform((list) => list.split(/,?\s|,(?=postgres)/).filter(Boolean))
      .pipe(
        z.array(
          z.string().refine(isOneServer, { error: "must be postgresql://USER:PASSWORD@HOST:PORT/NAME" }),
        ),
      ),
    MIGRATE_ON_START: z.enum(["on", "off"]).default("on"),
    HOST: z.string().default("localhost"),
    PORT: z.coerce.number({ error: "must be a port number" }).int().min(0).max(65_535).default(3001),
    OTLP_GRPC_PORT: z
      .union([z.literal("off"), z.coerce.number().int().min(0).max(65_535)], {
        error: "must be a port number or off",
      })
      .default(4317),
    GABBRO_TOKEN: secret().optional(),
    CORS_ORIGIN: z
      .string()
      .default("")
      .transform((list) => list.split(",").flatMap((origin) => origin.trim() || []))
      .pipe(
        z.array(
          z.string().refine(isOrigin, { error: "must be * or an origin such as https://app.example.com" }),
        ),
      ),
    DRAIN_SECONDS: z.coerce
      .number({ error: "must be a number of seconds" })
      .min(0)
      .max(3_600)
      .default(2)
      .transform((seconds) => seconds * 1_000),
    GABBRO_RETENTION: z.coerce
      .number({ error: "must be a number of days" })
      .int()
      .min(1)
      .max(MAX_RETENTION_DAYS)
      .optional(),
    RATE_LIMIT_PER_TOKEN: rate(),
    RATE_LIMIT_PER_ADDRESS: rate(),
    TRUST_PROXY: z
      .string()
      .default("")
      .transform((list) => list.split(/[\s,]+/).filter(Boolean))
      .pipe(
        z.array(
          z
            .string()
            .refine(isNetwork, { error: "must be addresses of proxies, such as 10.0.0.0/8 or loopback" }),
        ),
      ),
    METRICS_TOKEN: secret().optional(),
    PLAYGROUND: z.enum(["true", "false"]).default("true"),
    CONSOLE: z.enum(["true", "false"]).default("true"),
    LOG_LEVEL: z.enum(logLevels).default("info"),
    npm_lifecycle_event: z.string().optional(),
  })
  .refine(
    ({ DATABASE_URL, DATABASE_REPLICA_URLS }) =>
      DATABASE_REPLICA_URLS.length === 0 || isPostgresqlUrl(DATABASE_URL),
    {
      path: ["DATABASE_REPLICA_URLS"],
      error: "must be left out: DATABASE_URL names no PostgreSQL server",
    },
  );

function secret() {
  return z
    .string()
    .min(MIN_TOKEN_CHARACTERS, { error: `must have at least ${MIN_TOKEN_CHARACTERS} characters` })
    .regex(/^\P{Cc}*$/u, { error: "must not contain control characters" });
}

function rate() {
  return z.coerce.number({ error: "must be a number of requests a minute" }).int().min(1).optional();
}

/** An address, a range of addresses, or one of the ranges that Fastify has names for. */
function isNetwork(value: string): boolean {
  const [, address, bits] = /^([^/]*)(?:\/(\d+))?$/.exec(value) ?? [];
  const kind = isIP(address ?? "");
  if (kind === 0) return ["loopback", "linklocal", "uniquelocal"].includes(value);
  if (bits === undefined) return true;
  return Number(bits) >= 1 && Number(bits) <= (kind === 4 ? 32 : 128); // Fastify refuses 0
}

/** Whether a text names a database as `DATABASE_URL` does. */
export function isDatabaseUrl(value: string): boolean {
  return isPostgresqlUrl(value) || /^sqlite:[^:]/.test(value);
}

function isPostgresqlUrl(value: string): boolean {
  if (!/^postgres(?:ql)?:\/\//.test(value)) return false;
  try {
    describeUrl(value); // no check for a host: a socket has none
    return true;
  } catch {
    return false;
  }
}

function isOneServer(value: string): boolean {
  return isPostgresqlUrl(value) && hostsOf(value).length === 1;
}

function isOrigin(value: string): boolean {
  return value === "*" || (URL.canParse(value) && new URL(value).origin === value);
}

/** Reads the configuration from environment variables; blank ones count as absent. Throws one error that lists all errors. */
export function loadConfig(env: Record<string, string | undefined> = process.env): Config {
  const values = Object.fromEntries(
    Object.entries(env)
      .map(([name, value]) => [name, value?.trim()])
      .filter(([, value]) => value),
  );
  const parsed = environment.safeParse(values);
  if (!parsed.success) {
    const details = detailsOf(parsed.error.issues).map(({ path, message }) => `  ${path} ${message}`);
    throw new Error(["The configuration has errors:", ...details].join("\n"));
  }
  const {
    DATABASE_URL,
    DATABASE_POOL_SIZE,
    DATABASE_REPLICA_URLS,
    MIGRATE_ON_START,
    HOST,
    PORT,
    OTLP_GRPC_PORT,
    GABBRO_TOKEN,
    CORS_ORIGIN,
    DRAIN_SECONDS,
    GABBRO_RETENTION,
    RATE_LIMIT_PER_TOKEN,
    RATE_LIMIT_PER_ADDRESS,
    TRUST_PROXY,
    METRICS_TOKEN,
    PLAYGROUND,
    CONSOLE,
    LOG_LEVEL,
  } = parsed.data;
  return {
    databaseUrl: DATABASE_URL,
    poolSize: DATABASE_POOL_SIZE,
    replicaUrls: DATABASE_REPLICA_URLS,
    migrateOnStart: MIGRATE_ON_START === "on",
    host: HOST,
    port: PORT,
    otlpGrpcPort: OTLP_GRPC_PORT === "off" ? null : OTLP_GRPC_PORT,
    firstToken: GABBRO_TOKEN ?? null,
    corsOrigins: CORS_ORIGIN,
    drainMs: DRAIN_SECONDS,
    retentionDays: GABBRO_RETENTION ?? null,
    rateLimits: { perToken: RATE_LIMIT_PER_TOKEN ?? null, perAddress: RATE_LIMIT_PER_ADDRESS ?? null },
    trustedProxies: TRUST_PROXY,
    metricsToken: METRICS_TOKEN ?? null,
    playground: PLAYGROUND === "true",
    console: CONSOLE === "true",
    logLevel: LOG_LEVEL,
    isRunByNpm: parsed.data.npm_lifecycle_event !== undefined,
    isRunByDev: parsed.data.npm_lifecycle_event === "dev",
  };
}
