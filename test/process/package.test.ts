/**
 * The published package as a stranger's project sees it: built by `prepack`, put under node_modules,
 * type-checked against its declarations, and run.
 */
import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import type { ConfigMap, Lease, Pod } from "#api/gen/types.ts";
import type { AnyObject, KubeObject } from "#api/object.ts";
import type { Informer } from "#client/informer.ts";
import { connect, type Connection } from "#cmd/connect.ts";
import { startControlPlane } from "#cmd/embed.ts";
import { startStock } from "../differential/servers.ts";
import { noStock, stockPrograms } from "./peers.ts";

const configMaps = { group: "", version: "v1", resource: "configmaps" };
const nodes = { group: "", version: "v1", resource: "nodes" };
const pods = { group: "", version: "v1", resource: "pods" };
const websites = { group: "example.com", version: "v1", resource: "websites" };
const slices = { group: "discovery.k8s.io", version: "v1", resource: "endpointslices" };
const leases = { group: "coordination.k8s.io", version: "v1", resource: "leases" };
const definitions = {
  group: "apiextensions.k8s.io",
  version: "v1",
  resource: "customresourcedefinitions",
};

const execute = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const project = mkdtempSync(join(tmpdir(), "pilothouse-package-"));
const exampleNames = ["list-pods", "operator", "scheduler-plugin", "web-service"];
/** The code blocks of the guide; the last two are tests. */
const guide = codeOf(readFileSync(join(root, "docs/client.md"), "utf8"));
const readme = codeOf(readFileSync(join(root, "README.md"), "utf8"));

const compilerOptions = {
  target: "es2024",
  lib: ["es2024", "esnext.disposable"],
  module: "nodenext",
  types: ["node"],
  strict: true,
  noEmit: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  allowImportingTsExtensions: true,
};

before(() => {
  const installed = join(project, "node_modules/pilothouse");
  mkdirSync(installed, { recursive: true });
  run([join(root, "tools/prepack.mjs"), join(installed, "dist")]);
  cpSync(join(root, "package.json"), join(installed, "package.json"));
  for (const name of ["commander", "pino", "re2js", "yaml", "@types"]) {
    symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name));
  }
  for (const name of exampleNames) {
    cpSync(join(root, "examples", `${name}.ts`), join(project, `${name}.ts`));
  }
  for (const [at, code] of guide.entries()) writeFileSync(join(project, `guide-${at}.ts`), code);
  for (const [at, code] of readme.entries()) writeFileSync(join(project, `readme-${at}.ts`), code);
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions }));
});
after(() => rmSync(project, { recursive: true }));

/** `args` to this Node, in the project. @returns what it printed. */
function run(args: readonly string[]): string {
  const done = spawnSync(process.execPath, args, { cwd: project, encoding: "utf8" });
  assert.equal(done.status, 0, `${args.join(" ")}\n${done.stdout}${done.stderr}`);
  return done.stdout;
}

/** The types that `pilothouse types` writes, used rightly; a missing title would be an error. */
const usesWebsite = `
import { connect } from "pilothouse/client";
import { websiteRef, type Website } from "./website.ts";
const site: Website = { metadata: { name: "home" }, spec: { title: "Hello" } };
await (await connect()).client.create<Website>(websiteRef, "default", site);
// @ts-expect-error a title is required
export const untitled: Website = { spec: {} };
`;

function codeOf(text: string): readonly string[] {
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
}

test("every subpath of the package can be imported, and its declarations are there", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const names = Object.keys(exports).filter((name) => name !== "./package.json");
  const lines = names.map((name, at) => `import * as m${at} from "pilothouse${name.slice(1)}";`);
  const uses = names.map((_name, at) => `typeof m${at}`);
  writeFileSync(
    join(project, "every.ts"),
    `${lines.join("\n")}\nconsole.log(${uses.join(", ")});\n`,
  );
  assert.match(run(["every.ts"]), /^(object ?)+\n$/);
});

test("the examples and the code of the guide and the README type-check against the package", () => {
  assert.equal(guide.length, 4);
  const definition = join(root, "examples/website-crd.json");
  const types = run([join(root, "src/run/cmd/main.ts"), "types", "--crd", definition]);
  writeFileSync(join(project, "website.ts"), types);
  writeFileSync(join(project, "uses-website.ts"), usesWebsite);
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  run([tsc, "-p", "."]);
  const misuse =
    'import { connect } from "pilothouse/client";\nawait connect({ kubeconfig: 7 });\n';
  writeFileSync(join(project, "misuse.ts"), misuse);
  const done = spawnSync(process.execPath, [tsc, "-p", "."], { cwd: project, encoding: "utf8" });
  rmSync(join(project, "misuse.ts"));
  assert.match(done.stdout, /misuse\.ts.*number.*string/, "types of the package are not `any`");
});

test("list-pods prints the Pods of a plane that the same package started", () => {
  assert.equal(run(["list-pods.ts"]), "default/hello\n");
});

test("the examples run from a clone as well, without a package", () => {
  const args = ["--conditions=pilothouse-source", "examples/list-pods.ts"];
  const done = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  assert.equal(done.stdout, "default/hello\n", done.stderr);
});

test("the guide's tests pass", () => {
  const env: NodeJS.ProcessEnv = { ...process.env };
  delete env["NODE_TEST_CONTEXT"]; // a runner inside of a runner would report to the outer one
  for (const file of ["guide-2.ts", "guide-3.ts"]) {
    const done = spawnSync(process.execPath, [file], { cwd: project, encoding: "utf8", env });
    assert.equal(done.status, 0, done.stdout + done.stderr);
    assert.match(done.stdout, /pass 1/);
  }
});

for (const example of ["operator", "scheduler with a plugin", "web service"] as const) {
  test(`the ${example} works on a plane of our own`, async () => {
    const plane = await startControlPlane({ nodes: 0 });
    await runExample(example, plane.kubeconfig);
    await plane.stop();
  });

  const programs = stockPrograms();
  const skip = programs === undefined ? noStock : false;
  test(`the ${example} works on a stock API server`, { skip }, async () => {
    assert.ok(programs !== undefined);
    const stock = await startStock(programs);
    await runExample(example, readFileSync(stock.kubeconfig, "utf8"));
    await stock.stop();
  });
}

async function runExample(
  example: "operator" | "scheduler with a plugin" | "web service",
  kubeconfig: string,
) {
  const path = join(project, "config");
  writeFileSync(path, kubeconfig, { mode: 0o600 });
  const api = await connect({ kubeconfig: path });
  const stop = new AbortController();
  const watching = api.informers.run(stop.signal);
  if (example === "operator") await runOperator(api, path);
  else if (example === "scheduler with a plugin") await runScheduler(api, path);
  else await runWebService(api, path);
  stop.abort();
  await watching;
  api.close();
}

function startExample(file: string, kubeconfig: string) {
  const env = { ...process.env, KUBECONFIG: kubeconfig };
  const stdio = ["ignore", "pipe", "inherit"] as const;
  const child = spawn(process.execPath, [file], { cwd: project, env, stdio: [...stdio] });
  return { child, ended: once(child, "exit"), output: createInterface({ input: child.stdout }) };
}

/** It writes pages, mends them, tells its condition, and ends at SIGTERM without its lease. */
async function runOperator({ client, informers }: Connection, kubeconfig: string): Promise<void> {
  await client.create(definitions, "", exampleDefinition());
  const pages = informers.informer<ConfigMap>(configMaps);
  await informers.informer(websites).synced; // its first list succeeds when the definition is served
  const main = join(root, "src/run/cmd/main.ts");
  const typed = await execute(process.execPath, [main, "types", "--kubeconfig", kubeconfig]);
  assert.match(typed.stdout, /interface Website extends KubeObject \{ readonly "spec": /);
  const { child, ended } = startExample("operator.ts", kubeconfig);
  const site = { apiVersion: "example.com/v1", kind: "Website", metadata: { name: "home" } };
  await client.create(websites, "default", { ...site, spec: { title: "Hello" } });

  const first = await changed(
    pages,
    "home",
    (page) => page.data?.["index.html"] === "<h1>Hello</h1>",
  );
  await client.delete(configMaps, "default", "home");
  await changed(pages, "home", (page) => page.metadata?.uid !== first.metadata?.uid);
  const patch = { spec: { title: "Bye" } };
  await client.patch(websites, "default", "home", "merge", patch);
  await changed(pages, "home", (page) => page.data?.["index.html"] === "<h1>Bye</h1>");
  const { status } = await client.get<AnyObject>(websites, "default", "home");
  assert.match(JSON.stringify(status), /"type":"Ready"/);

  child.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
  const lease = await client.get<Lease>(leases, "default", "website-operator");
  assert.equal(lease.spec?.holderIdentity ?? "", "", "it released its lease");
}

/** It binds to the cheapest node, refuses dear ones in words, and places what waits when one gets cheaper. */
async function runScheduler({ client, informers }: Connection, kubeconfig: string): Promise<void> {
  const allocatable = { cpu: "1", memory: "1Gi", pods: "10" };
  const node = (name: string, price: string): AnyObject => ({
    metadata: { name, labels: { "example.com/price": price } },
    status: { allocatable, capacity: allocatable },
  });
  for (const [name, price] of [
    ["dear", "500"],
    ["fair", "90"],
    ["cheap", "20"],
  ] as const) {
    await client.create(nodes, "", node(name, price));
  }
  const pod = (name: string): AnyObject => {
    const requests = { cpu: "1" };
    const containers = [{ name: "c", image: "i", resources: { requests } }];
    // Nodes without a kubelet are not ready.
    const tolerations = [{ operator: "Exists" }];
    return { metadata: { name }, spec: { schedulerName: "thrifty", containers, tolerations } };
  };
  const all = informers.informer<Pod>(pods);
  const { child, ended } = startExample("scheduler-plugin.ts", kubeconfig);
  for (const [name, home] of [
    ["p1", "cheap"],
    ["p2", "fair"],
  ] as const) {
    await client.create(pods, "default", pod(name));
    const bound = await changed(all, name, ({ spec }) => spec?.nodeName !== undefined);
    assert.equal(bound.spec?.nodeName, home);
  }
  await client.create(pods, "default", pod("p3"));
  const told = await changed(all, "p3", ({ status }) => (status?.conditions ?? []).length > 0);
  const { message = "" } = told.status?.conditions?.[0] ?? {};
  assert.match(
    message,
    /^0\/3 nodes are available: 1 node\(s\) cost more than 100 cents an hour, 2 Insuff/,
  );
  const cheaper = { metadata: { labels: { "example.com/price": "70" } } };
  await client.patch(nodes, "", "dear", "merge", cheaper);
  const bound = await changed(all, "p3", ({ spec }) => spec?.nodeName !== undefined);
  assert.equal(bound.spec?.nodeName, "dear");
  child.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
}

/** It answers the ready addresses of a Service from its first list, and nothing for others. */
async function runWebService({ client }: Connection, kubeconfig: string): Promise<void> {
  await client.create(slices, "default", {
    metadata: { name: "web-1", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: [
      { addresses: ["192.0.2.1"], conditions: { ready: true } },
      { addresses: ["192.0.2.2"], conditions: { ready: false } },
    ],
  } as AnyObject);
  const { child, ended, output } = startExample("web-service.ts", kubeconfig);
  const [url] = (await once(output, "line")) as [string];
  const get = async (path: string): Promise<unknown> => {
    const answer = await fetch(url + path, { headers: { connection: "close" } });
    return answer.status === 200 ? answer.json() : answer.status;
  };
  assert.deepEqual(await get("/services/default/web"), ["192.0.2.1"]);
  assert.deepEqual(await get("/services/default/other"), []);
  assert.equal(await get("/elsewhere"), 404);
  child.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
}

/** Resolves with the object of the default namespace as soon as it is as `isWanted` says. */
function changed<T extends KubeObject>(
  informer: Informer<T>,
  name: string,
  isWanted: (object: T) => boolean,
): Promise<T> {
  const found = Promise.withResolvers<T>();
  const look = (): void => {
    const object = informer.get("default", name);
    if (object !== undefined && isWanted(object)) found.resolve(object);
  };
  const remove = informer.addHandler({ batch: look });
  look();
  return found.promise.finally(remove);
}

function exampleDefinition(): AnyObject {
  return JSON.parse(readFileSync(join(root, "examples/website-crd.json"), "utf8")) as AnyObject;
}
