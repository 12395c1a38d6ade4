/**
 * Skipper's own programs beside the relay's view `skipper-routes`, on one live plane that holds the objects of Skipper's corpus:
 *
 *   git clone https://github.com/zalando/skipper && cd skipper && go build -o bin/ ./cmd/routesrv ./cmd/skipper
 *   node test/differential/skipper/live.ts skipper/bin skipper/dataclients/kubernetes/testdata [-v]
 *
 * Compares what routesrv serves with what the relay serves, and the tables of two Skippers: one that reads the API server, one
 * with `-routes-urls` at the relay; at first, and after changes. Not part of the tests: it needs the clone.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { isRecord } from "#base/is-record.ts";
import { parseRoutes } from "#skipper/eskip-parser.ts";
import { printRoute } from "#skipper/eskip-print.ts";
import type { Route } from "#skipper/route.ts";
import { bound } from "../../process/bound-child.ts";
import { fetchWith } from "../../process/fetch-with.ts";
import { removeDirectory, startUp, temporaryDirectory } from "../../process/harness.ts";
import { credentialsOf, KubeHttp } from "../../process/kube-http.ts";
import { startRelay } from "../../process/relay-harness.ts";

type Fields = Readonly<Record<string, unknown>>;

const plurals: Readonly<Record<string, string>> = {
  Service: "/api/v1/NAMESPACE/services",
  Endpoints: "/api/v1/NAMESPACE/endpoints",
  EndpointSlice: "/apis/discovery.k8s.io/v1/NAMESPACE/endpointslices",
  Ingress: "/apis/networking.k8s.io/v1/NAMESPACE/ingresses",
  RouteGroup: "/apis/zalando.org/v1/NAMESPACE/routegroups",
};
const settleMsMax = 60_000;

/** A namespace of its own for each file's: the files name objects alike. */
function objectsOf(root: string): readonly { readonly path: string; readonly object: Fields }[] {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).sort();
  return files
    .filter((name) => name.endsWith(".yaml"))
    .flatMap((name, file) =>
      parseAllDocuments(readFileSync(join(root, name), "utf8"), { uniqueKeys: false })
        .map((one): unknown => one.toJS())
        .filter(isRecord)
        .flatMap((object) => placed(object, file)),
    );
}

function placed(object: Fields, file: number): readonly { path: string; object: Fields }[] {
  const path = plurals[String(object["kind"])];
  if (path === undefined || !isRecord(object["metadata"])) return [];
  const own = object["metadata"]["namespace"];
  const namespace = `f${file}-${typeof own === "string" ? own : "default"}`;
  const metadata = { ...object["metadata"], namespace };
  return [
    {
      path: path.replace("NAMESPACE", `namespaces/${namespace}`),
      object: { ...object, metadata },
    },
  ];
}

async function fill(admin: KubeHttp, root: string): Promise<readonly [taken: number, of: number]> {
  let taken = 0;
  const objects = objectsOf(root);
  const namespaces = new Set(
    objects.map(({ path }) => path.split("/namespaces/")[1]?.split("/")[0]),
  );
  for (const name of namespaces)
    await admin.request("POST", "/api/v1/namespaces", { metadata: { name } });
  for (const { path, object } of objects) {
    const { status } = await admin.request("POST", path, object);
    if (status === 201) taken++;
  }
  return [taken, objects.length];
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(isRecord(address) ? Number(address["port"]) : 0));
    });
  });
}

/** @returns its address. */
async function startSkipper(
  program: string,
  args: readonly string[],
  caFile: string,
): Promise<{ readonly address: string; kill(): void }> {
  const [main, support] = [await freePort(), await freePort()];
  const at = [`-address=127.0.0.1:${main}`, `-support-listener=127.0.0.1:${support}`];
  const child = bound(
    spawn(program, [...args, ...at, "-source-poll-timeout=500"], {
      env: { ...process.env, SSL_CERT_FILE: caFile },
      stdio: ["ignore", "ignore", "ignore"],
    }),
  );
  const port = program.endsWith("routesrv") ? main : support;
  return { address: `http://127.0.0.1:${port}`, kill: () => void child.kill("SIGKILL") };
}

/** The order of predicates of one name, and of endpoints, does not count. */
function canonical(routes: readonly Route[]): readonly string[] {
  const by = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  return routes
    .map((route) => {
      const { backend } = route;
      const predicates = route.predicates.toSorted((a, b) => by(a.name, b.name));
      if (backend.kind !== "lb") return printRoute({ ...route, predicates }, { zones: false });
      const endpoints = backend.endpoints.toSorted((a, b) => by(a.address, b.address));
      return printRoute(
        { ...route, predicates, backend: { ...backend, endpoints } },
        { zones: false },
      );
    })
    .sort();
}

type Table = () => Promise<readonly string[]>;

function tableAt(url: string, path: string): Table {
  return async () => {
    try {
      const answer = url.startsWith("https:")
        ? await fetchWith(url, path, "")
        : await fetch(`${url}${path}`);
      return answer.status === 200 ? canonical(parseRoutes(await answer.text())) : [];
    } catch {
      return [];
    }
  };
}

interface Compared {
  readonly rows: number;
  /** Those of RouteGroups. */
  readonly groups: number;
  readonly less: readonly string[];
  readonly more: readonly string[];
}

function count(lines: readonly string[], pattern: RegExp): number {
  return lines.filter((line) => pattern.test(line)).length;
}

/** What differs, once it does not any more or after a minute. */
async function compare(a: Table, b: Table): Promise<Compared> {
  const endMs = Date.now() + settleMsMax;
  for (;;) {
    const [one, other] = [await a(), await b()];
    const less = one.filter((line) => !other.includes(line));
    const more = other.filter((line) => !one.includes(line));
    const isSame = one.length > 0 && less.length + more.length === 0;
    if (isSame || Date.now() > endMs)
      return { rows: one.length, groups: count(one, /^kube_rg/), less, more };
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function tokenOf(admin: KubeHttp): Promise<string> {
  const group = "rbac.authorization.k8s.io";
  const accounts = "/api/v1/namespaces/default/serviceaccounts";
  await admin.request("POST", accounts, { metadata: { name: "skipper" } });
  await admin.request("POST", `/apis/${group}/v1/clusterrolebindings`, {
    metadata: { name: "skipper" },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "skipper", namespace: "default" }],
  });
  const { body } = await admin.request("POST", `${accounts}/skipper/token`, { spec: {} });
  return String(body["status"]?.["token"]);
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const views = `
views:
  - {name: routes, shipped: skipper-routes, path: /routes, public: true, options: {https-redirect: true}}
`;

async function change(admin: KubeHttp): Promise<void> {
  const { body } = await admin.request("GET", "/apis/networking.k8s.io/v1/ingresses");
  for (const [at, one] of (body["items"] ?? []).entries()) {
    const { name, namespace } = (one as unknown as { metadata: Record<string, string> }).metadata;
    const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses/${name}`;
    if (at % 3 === 0) await admin.request("DELETE", path);
    if (at % 3 === 1) {
      const patch = { metadata: { annotations: { "zalando.org/skipper-filter": "status(418)" } } };
      await admin.request("PATCH", path, patch, "application/merge-patch+json");
    }
  }
}

async function main(bin: string, root: string, isVerbose: boolean): Promise<void> {
  const directory = temporaryDirectory("skipper");
  const plane = await startUp([
    "--data-dir",
    join(directory, "demo"),
    "--port",
    "0",
    "--nodes",
    "1",
  ]);
  const admin = new KubeHttp(credentialsOf(plane.kubeconfig));
  const crd = join(root, "..", "deploy", "apply", "routegroups_crd.yaml");
  const parsed = parseAllDocuments(readFileSync(crd, "utf8")).map((one): unknown => one.toJS());
  for (const one of parsed.filter(isRecord)) await admin.request("POST", definitions, one);
  const [taken, of] = await fill(admin, root);
  console.log(`objects: ${taken} of ${of} are taken by the API server`);
  const [token, file] = [join(directory, "token"), join(directory, "views.yaml")];
  writeFileSync(token, await tokenOf(admin), { mode: 0o600 });
  writeFileSync(file, views);
  const pki = join(directory, "demo", "pki");
  const { kubeconfig } = plane;
  const args = ["--resources", "namespaces", "--views", file];
  const relay = await startRelay({ kubeconfig, directory, name: "relay", pki, args });
  const kube = [
    "-kubernetes",
    `-kubernetes-url=${plane.url}`,
    `-kubernetes-token-file=${token}`,
    "-enable-kubernetes-endpointslices",
    "-kubernetes-healthcheck=false",
  ];
  const ca = join(pki, "ca.crt");
  const routesrv = await startSkipper(join(bin, "routesrv"), kube, ca);
  const direct = await startSkipper(join(bin, "skipper"), kube, ca);
  const polling = await startSkipper(
    join(bin, "skipper"),
    [`-routes-urls=${relay.url}/routes`],
    ca,
  );
  const report = async (when: string): Promise<void> => {
    for (const [what, a, b] of [
      ["routesrv and relay", tableAt(routesrv.address, "/routes"), tableAt(relay.url, "/routes")],
      [
        "Skippers",
        tableAt(direct.address, "/routes?limit=100000"),
        tableAt(polling.address, "/routes?limit=100000"),
      ],
    ] as const) {
      const { rows, groups, less, more } = await compare(a, b);
      console.log(
        `${when}, ${what}: ${rows} routes (${groups} of RouteGroups), ${less.length} only left, ${more.length} only right`,
      );
      if (isVerbose)
        for (const line of [...less.map((l) => `- ${l}`), ...more.map((l) => `+ ${l}`)])
          console.log(line);
    }
  };
  await report("at first");
  await change(admin);
  await report("after changes");
  for (const one of [routesrv, direct, polling]) one.kill();
  admin.close();
  await relay.kill();
  await plane.kill();
  removeDirectory(directory);
}

const [bin, root, verbose] = process.argv.slice(2);
if (bin === undefined || root === undefined) {
  console.error("usage: live.ts FOLDER-OF-PROGRAMS CORPUS [-v]");
  process.exitCode = 2;
} else await main(bin, root, verbose === "-v");
