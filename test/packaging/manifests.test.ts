import { access, constants, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { loadConfig } from "../../src/config.ts";
import { gabbro } from "../support/program.ts";
import { startServer } from "../support/server.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

const known = new Set(
  [...(await read("src/config.ts")).matchAll(/^ {4}([A-Z_]+): /gm)].map(([, name]) => name!),
);
const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

type Env = Record<string, string>;
/** How long requests in flight may take after DRAIN_SECONDS. */
const CLOSE_SECONDS = 10;

/** The environment is one that Gabbro knows and accepts, and leaves it time to stop. */
function expectToWork(env: Env, stopSeconds: number): void {
  expect(Object.keys(env).filter((name) => !known.has(name))).toEqual([]);
  const { drainMs } = loadConfig(env);
  expect(stopSeconds).toBeGreaterThan(drainMs / 1_000 + CLOSE_SECONDS);
}

const seconds = (duration: string) => Number(/^(\d+)s?$/.exec(duration)![1]);

describe("gabbro.service", async () => {
  const lines = (await read("packaging/gabbro.service")).split("\n").filter((line) => /^[^#\s]/.test(line));
  const settings = lines.flatMap((line) => {
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    return name === undefined ? [] : [[name, value!] as const];
  });
  const valuesOf = (name: string) => settings.flatMap(([each, value]) => (each === name ? [value] : []));

  test("has three sections and settings, and sets nothing twice by mistake", () => {
    expect(lines.filter((line) => line.startsWith("["))).toEqual(["[Unit]", "[Service]", "[Install]"]);
    expect(settings).toHaveLength(lines.length - 3);
    const repeated = settings.map(([name]) => name).filter((name, at, names) => names.indexOf(name) !== at);
    expect(new Set(repeated)).toEqual(new Set(["Environment", "SystemCallFilter"]));
  });

  test("gives Gabbro an environment that it knows, and keeps the database in the folder of its state", () => {
    const env = Object.fromEntries(valuesOf("Environment").map((value) => value.split(/=(.*)/s).slice(0, 2)));
    expectToWork(env, Number(valuesOf("TimeoutStopSec")[0]));
    expect(env.DATABASE_URL).toBe(`sqlite:/var/lib/${valuesOf("StateDirectory")[0]}/gabbro.sqlite`);
  });

  test("starts the program of the npm package by the Node.js of the package", async () => {
    const [node, flag, program, command] = valuesOf("ExecStart")[0]!.split(" ");
    expect(node).toBe("/opt/gabbro/node_modules/.bin/node");
    expect((await read("package.json")).includes(`"start": "node ${flag} `)).toBe(true);
    expect(program).toBe("/opt/gabbro/node_modules/gabbro/bin/gabbro.js");
    expect(command).toBe("serve");
  });

  test.each([
    ["User", "gabbro"],
    ["NoNewPrivileges", "yes"],
    ["CapabilityBoundingSet", ""],
    ["ProtectSystem", "strict"],
    ["ProtectHome", "yes"],
    ["PrivateTmp", "yes"],
    ["PrivateDevices", "yes"],
    ["RestrictNamespaces", "yes"],
    ["SystemCallArchitectures", "native"],
    ["KillMode", "mixed"],
    ["UMask", "0077"],
  ])("confines Gabbro by %s=%s", (name, value) => expect(valuesOf(name)).toEqual([value]));
});

describe("Dockerfile", async () => {
  const text = (await read("packaging/Dockerfile")).replaceAll(/^#.*\n/gm, "");
  const stages = text.split(/^(?=FROM )/m).filter((stage) => stage.startsWith("FROM "));
  const final = stages.at(-1)!;
  const instruction = (name: string) => new RegExp(`^${name} (.*)$`, "m").exec(final)?.[1];

  test("makes an image of the Node.js of .nvmrc that runs without a privilege", async () => {
    const major = (await read(".nvmrc")).trim();
    expect(stages[0]).toMatch(new RegExp(`^FROM node:${major}-slim AS build\n`));
    expect(instruction("FROM")).toMatch(
      new RegExp(`^gcr\\.io/distroless/nodejs${major}-debian\\d+:nonroot$`),
    );
    expect(instruction("USER")).toBe("65532:65532");
    expect(instruction("VOLUME")).toBe("/data");
  });

  test("gives Gabbro an environment that it knows", () => {
    const env = Object.fromEntries(
      instruction("ENV")!
        .split(" ")
        .map((pair) => pair.split("=")),
    );
    expectToWork(env, 13);
    expect(env.DATABASE_URL).toBe("sqlite:/data/gabbro.sqlite");
  });

  test("starts Gabbro, and asks it for its health, by commands that Gabbro has", async () => {
    const start = [...JSON.parse(instruction("ENTRYPOINT")!), ...JSON.parse(instruction("CMD")!)];
    expect(start.slice(-2)).toEqual(["/app/bin/gabbro.js", "serve"]);
    const health = JSON.parse(/^HEALTHCHECK .* CMD (\[.*\])$/m.exec(final)![1]!);
    expect(health).toEqual([start[0], "/app/bin/gabbro.js", "health"]);
    expect((await gabbro(root, ["health", "--help"])).code).toBe(0);
  });

  test("holds the program and the console, which it builds", () => {
    expect(stages[0]).toMatch(/^RUN node packaging\/compile\.ts && npm run console$/m);
    for (const folder of ["bin", "dist", "console/dist"])
      expect(final).toContain(`\nCOPY --from=build /build/${folder} ./${folder}\n`);
  });

  test("sends the builder what the build needs, and neither data nor secrets", async () => {
    const [all, ...lines] = (await read("packaging/Dockerfile.dockerignore")).trim().split("\n");
    expect(all).toBe("*");
    const sent = lines.flatMap((line) => (line.startsWith("!") ? line.slice(1) : []));
    const leftOut = lines.filter((line) => !line.startsWith("!"));
    expect(leftOut).toEqual(["console/dist", "console/node_modules"]); // the build makes its own
    await Promise.all(sent.filter((path) => path.includes(".")).map(read));
    const [, ...compiled] = /^RUN node (\S+) /m.exec(stages[0]!)!;
    const needed = [...compiled, "src", "bin", "console", "schema.graphql", "package-lock.json"];
    expect(sent).toEqual(expect.arrayContaining(needed));
    for (const secret of ["data", ".git", ".env"]) expect(sent).not.toContain(secret);
  });
});

describe("image.sh", async () => {
  const text = await read("packaging/image.sh");
  const [, json] = /<<JSON\n(.*?)\nJSON$/ms.exec(text)!;
  const image = JSON.parse(json!.replace(/\[\$\(join .*?\)\]/, "[]"));
  const { config } = image;
  const dockerfile = await read("packaging/Dockerfile");
  const final = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));
  const instruction = (name: string) => new RegExp(`^${name} (.*)$`, "m").exec(final)![1]!;

  test("makes an image that runs as that of the Dockerfile does", () => {
    expect(config.User).toBe(instruction("USER"));
    expect(config.Env).toEqual(["PATH=/nodejs/bin", ...instruction("ENV").split(" ")]);
    expect(config.Entrypoint).toEqual(JSON.parse(instruction("ENTRYPOINT")));
    expect(config.Cmd).toEqual(JSON.parse(instruction("CMD")));
    expect(config.Volumes).toEqual({ [instruction("VOLUME")]: {} });
    expect(config.StopSignal).toBe(instruction("STOPSIGNAL"));
    const [, interval, timeout, start, retries, command] =
      /^--interval=(\d+)s --timeout=(\d+)s --start-period=(\d+)s --retries=(\d+) CMD (.*)$/.exec(
        instruction("HEALTHCHECK"),
      )!;
    expect(config.Healthcheck).toEqual({
      Test: ["CMD", ...JSON.parse(command!)],
      ...{ Interval: Number(interval) * 1e9, Timeout: Number(timeout) * 1e9 },
      ...{ StartPeriod: Number(start) * 1e9, Retries: Number(retries) },
    });
  });

  test.each(["image.sh", "checkImage.sh", "checkProxies.sh"])(
    "%s can be run, stops at the first error and names no host",
    async (name) => {
      const script = new URL(`../../packaging/${name}`, import.meta.url);
      await access(script, constants.X_OK);
      const lines = await read(`packaging/${name}`);
      expect(lines).toMatch(/^#!\/usr\/bin\/env bash\n(?:#.*\n)*set -euo pipefail\n/);
      expect(lines.replaceAll("http://127.0.0.1", "")).not.toMatch(
        /https?:|docker\.io|\w+\.(?:com|io|org)\//,
      );
    },
  );
});

interface ComposeService {
  image: string;
  environment: Env;
  volumes?: string[];
  tmpfs?: string[];
  ports?: string[];
  user?: string;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  stop_grace_period?: string;
  extends?: { file: string; service: string };
}
interface Compose {
  services: Record<string, ComposeService>;
  volumes: Record<string, null>;
}

/** The tag by which a list replaces the one that it would add to. */
const override = { tag: "!override", collection: "seq", resolve: (seq: unknown) => seq } as const;
const readCompose = async (path: string) =>
  parse((await read(path)).replaceAll(/\$\{POSTGRES_PASSWORD[^}]*\}/g, "secret"), {
    // biome-ignore lint/suspicious/noExplicitAny: the type wants a node, which the list is
    customTags: [override as any],
  }) as Compose;

describe("compose.yaml", async () => {
  const compose = await readCompose("packaging/compose.yaml");

  test("has one service on one volume, which writes only there and to the folder for temporary files", () => {
    expect(Object.keys(compose.services)).toEqual(["gabbro"]);
    expect(Object.keys(compose.volumes)).toEqual(["data"]);
    expect(compose.services.gabbro).toMatchObject({
      volumes: ["data:/data"],
      tmpfs: ["/tmp"],
      read_only: true,
      user: "65532:65532",
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
    });
  });

  test("gives Gabbro an environment that it knows, and the port that it listens on", () => {
    const { environment, stop_grace_period, ports } = compose.services.gabbro!;
    expectToWork(environment, seconds(stop_grace_period!));
    expect(ports).toEqual([`127.0.0.1:3001:${environment.PORT}`]);
  });

  test("gets PostgreSQL and a second gateway by compose.postgresql.yaml", async () => {
    const more = await readCompose("packaging/compose.postgresql.yaml");
    expect(Object.keys(more.services).toSorted()).toEqual(["gabbro", "gabbro-2", "postgresql"]);
    const { environment, stop_grace_period } = compose.services.gabbro!;
    for (const name of ["gabbro", "gabbro-2"]) {
      const gateway = { ...environment, ...more.services[name]!.environment };
      expectToWork(gateway, seconds(stop_grace_period!));
      const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = more.services.postgresql!.environment;
      expect(gateway.DATABASE_URL).toBe(
        `postgresql://${POSTGRES_USER}:${POSTGRES_PASSWORD}@postgresql:5432/${POSTGRES_DB}`,
      );
    }
    expect(more.services["gabbro-2"]).toMatchObject({
      extends: { file: "compose.yaml", service: "gabbro" },
      ports: [`127.0.0.1:3002:${environment.PORT}`],
    });
  });
});

describe("kubernetes.yaml", async () => {
  const documents = parseAllDocuments(await read("packaging/kubernetes.yaml"));
  // biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes have many shapes
  const objects: any[] = documents.map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
  const [deployment, service, budget] = objects;
  const pod = deployment.spec.template.spec;
  const [container] = pod.containers;

  test("has a deployment, a service and one disruption budget, which select the same pods", () => {
    expect(objects.map(({ kind }) => kind)).toEqual(["Deployment", "Service", "PodDisruptionBudget"]);
    const { labels } = deployment.spec.template.metadata;
    expect(deployment.spec.selector.matchLabels).toEqual(labels);
    expect(service.spec.selector).toEqual(labels);
    expect(budget.spec.selector.matchLabels).toEqual(labels);
    expect(deployment.spec.replicas).toBeGreaterThan(budget.spec.maxUnavailable);
  });

  test("gives Gabbro an environment that it knows, with the database from a secret", () => {
    const secret = container.env.find((each: { name: string }) => each.name === "DATABASE_URL");
    expect(secret.valueFrom.secretKeyRef).toEqual({ name: "gabbro", key: "database-url" });
    const env = Object.fromEntries(
      container.env.map((each: { name: string; value?: string }) => [
        each.name,
        each.value ?? "postgresql://u:p@host/gabbro",
      ]),
    );
    expectToWork(env, pod.terminationGracePeriodSeconds);
    expect(container.ports).toEqual([{ name: "http", containerPort: Number(env.PORT) }]);
    expect(service.spec.ports[0].targetPort).toBe("http");
  });

  test("asks for paths that Gabbro serves, and stops the traffic within the time in which Gabbro drains", async () => {
    const { readinessProbe, livenessProbe, startupProbe } = container;
    for (const { httpGet } of [readinessProbe, livenessProbe, startupProbe]) {
      expect(httpGet.port).toBe("http");
      expect((await server.get(httpGet.path, { token: null })).status).toBe(200);
    }
    expect(readinessProbe.httpGet.path).toBe("/ready");
    expect(livenessProbe.httpGet.path).toBe("/health");
    const drain = container.env.find((each: { name: string }) => each.name === "DRAIN_SECONDS").value;
    expect(readinessProbe.periodSeconds * readinessProbe.failureThreshold).toBeLessThan(Number(drain));
  });

  test("runs as no user of the machine, without privileges, within limits", () => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65_532 });
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.any(String), memory: expect.any(String) },
      limits: { memory: expect.any(String) },
    });
    expect(container.volumeMounts).toEqual([{ name: "tmp", mountPath: "/tmp" }]);
  });
});

describe("the examples for proxies", async () => {
  const nginx = await read("packaging/nginx.conf");
  const caddy = await read("packaging/Caddyfile");
  const { port } = loadConfig({});

  test("send requests to the port on which Gabbro listens by default", () => {
    expect(/^ {2}server 127\.0\.0\.1:(\d+);/m.exec(nginx)![1]).toBe(String(port));
    expect(/^\treverse_proxy 127\.0\.0\.1:(\d+) /m.exec(caddy)![1]).toBe(String(port));
  });

  test("pass event streams on as they arrive, for as long as a subscription lasts", () => {
    expect(nginx).toMatch(/^ {4}proxy_buffering off;$/m);
    expect(nginx).toMatch(/^ {4}proxy_read_timeout 1h;$/m);
    expect(caddy).toMatch(/^\t\tflush_interval -1$/m);
  });

  test("leave the refusal of large bodies to Gabbro", () => {
    expect(Number(/client_max_body_size (\d+)m;/.exec(nginx)![1])).toBeGreaterThan(10);
  });

  test("ask for paths that Gabbro serves, and close both braces and quotes", async () => {
    const path = /^\t\thealth_uri (\S+)$/m.exec(caddy)![1]!;
    expect((await server.get(path, { token: null })).status).toBe(200);
    for (const text of [nginx, caddy]) {
      expect(text.match(/\{/g)!.length).toBe(text.match(/\}/g)!.length);
      expect(text.replaceAll(/#.*/g, "").match(/"/g)!.length % 2).toBe(0);
    }
  });
});
