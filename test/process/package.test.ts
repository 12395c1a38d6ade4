/**
 * The published package as a stranger's project sees it: built by `prepack`, put under node_modules,
 * type-checked against its declarations, and run.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
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
import { after, before, test } from "node:test";
import type { ConfigMap, Lease } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import { toolsFor } from "#cmd/connect.ts";
import { startControlPlane } from "#cmd/embed.ts";

const configMaps = { group: "", version: "v1", resource: "configmaps" };
const websites = { group: "example.com", version: "v1", resource: "websites" };
const leases = { group: "coordination.k8s.io", version: "v1", resource: "leases" };
const definitions = {
  group: "apiextensions.k8s.io",
  version: "v1",
  resource: "customresourcedefinitions",
};

const root = join(import.meta.dirname, "../..");
const project = mkdtempSync(join(tmpdir(), "pilothouse-package-"));
const exampleNames = ["list-pods", "operator"];
/** The code blocks of the guide; the last is a test. */
const guide = codeOf(readFileSync(join(root, "docs/client.md"), "utf8"));

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

test("the examples and the guide's code type-check against the package", () => {
  assert.equal(guide.length, 3);
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

test("the guide's test passes", () => {
  const env: NodeJS.ProcessEnv = { ...process.env };
  delete env["NODE_TEST_CONTEXT"]; // a runner inside of a runner would report to the outer one
  const done = spawnSync(process.execPath, ["guide-2.ts"], { cwd: project, encoding: "utf8", env });
  assert.equal(done.status, 0, done.stdout + done.stderr);
  assert.match(done.stdout, /pass 1/);
});

test("the operator writes pages, mends them, tells its condition, and ends at SIGTERM", async () => {
  const plane = await startControlPlane({ nodes: 0 });
  const kubeconfig = join(project, "config");
  writeFileSync(kubeconfig, plane.kubeconfig, { mode: 0o600 });
  const { client } = plane;
  await client.create(definitions, "", exampleDefinition());
  const stop = new AbortController();
  const { informers } = toolsFor(client);
  const pages = informers.informer<ConfigMap>(configMaps);
  const watching = informers.run(stop.signal);
  const operator = spawn(process.execPath, ["operator.ts"], {
    cwd: project,
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const ended = once(operator, "exit");
  const site = { apiVersion: "example.com/v1", kind: "Website", metadata: { name: "home" } };
  await whenServed(client);
  await client.create(websites, "default", { ...site, spec: { title: "Hello" } });

  const first = await pageOf(pages, (page) => page.data?.["index.html"] === "<h1>Hello</h1>");
  await client.delete(configMaps, "default", "home");
  await pageOf(pages, (page) => page.metadata?.uid !== first.metadata?.uid);
  const patch = { spec: { title: "Bye" } };
  await client.patch(websites, "default", "home", "merge", patch);
  await pageOf(pages, (page) => page.data?.["index.html"] === "<h1>Bye</h1>");
  const { status } = await client.get<AnyObject>(websites, "default", "home");
  assert.match(JSON.stringify(status), /"type":"Ready"/);

  operator.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
  const lease = await client.get<Lease>(leases, "default", "website-operator");
  assert.equal(lease.spec?.holderIdentity, "", "it released its lease");
  stop.abort();
  await watching;
  await plane.stop();
});

/** The definition's collection answers as soon as it is established; its event says so. */
function whenServed(client: Client): Promise<void> {
  const served = Promise.withResolvers<void>();
  const stop = new AbortController();
  const call = { fieldSelector: "metadata.name=websites.example.com", signal: stop.signal };
  const watching = client.watch<AnyObject>(definitions, call, (events) => {
    if (
      !/"Established","status":"True"|"status":"True","type":"Established"/.test(
        JSON.stringify(events),
      )
    )
      return;
    served.resolve();
    stop.abort();
  });
  return Promise.all([served.promise, watching]).then(() => undefined);
}

/** Resolves with the page `home` as soon as it is as `isWanted` says. */
function pageOf(pages: Informer<ConfigMap>, isWanted: (page: ConfigMap) => boolean) {
  const found = Promise.withResolvers<ConfigMap>();
  const look = (): void => {
    const page = pages.get("default", "home");
    if (page !== undefined && isWanted(page)) found.resolve(page);
  };
  const remove = pages.addHandler({ batch: look });
  look();
  return found.promise.finally(remove);
}

function exampleDefinition(): AnyObject {
  return JSON.parse(readFileSync(join(root, "examples/website-crd.json"), "utf8")) as AnyObject;
}
