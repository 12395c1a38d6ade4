/** `npm run bench -- extension`: see `usage`. The server is a process of its own; figures are its own, from /proc. */
import { join } from "node:path";
import type { AnyObject } from "#api/object.ts";
import { trustStructural } from "#api/structural/structural.ts";
import { rulesOf } from "#extension/definitions/rules/rules.ts";
import { removeDirectory, startUp, temporaryDirectory } from "../process/harness.ts";
import { credentialsOf, KubeHttp } from "../process/kube-http.ts";
import { flagsOf } from "./flags.ts";
import { cpuSeconds, residentBytes } from "./process-cost.ts";

const usage = `npm run bench -- extension [--definitions 1000] [--objects 10000] [--writes 1000]

What custom resources cost a whole "pilothouse up": so many definitions, one more of them, objects of 2 KB
beside ConfigMaps of that size, and lists of them.

  --definitions N   definitions, in groups of ten
  --objects N       objects in the lists
  --writes N        creates and patches of each kind
`;
const flags = flagsOf(usage, { definitions: "1000", objects: "10000", writes: "1000" });
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const merge = "application/merge-patch+json";
const atOnce = 16;

const text = "x".repeat(100);
const paths = {
  custom: `/apis/${groupOf(0)}/v1/namespaces/default/things0`,
  builtin: "/api/v1/namespaces/default/configmaps",
};

interface Row {
  readonly what: string;
  readonly figure: string;
}

const directory = temporaryDirectory("extension");
const plane = await startUp(["--data-dir", join(directory, "data"), "--port", "0", "--nodes", "0"]);
const credentials = credentialsOf(plane.kubeconfig);
const client = new KubeHttp(credentials);
const rows: Row[] = [];
try {
  await define(0);
  await writes();
  await lists();
  await manyDefinitions();
  await documents();
  rules();
} finally {
  for (const { what, figure } of rows) console.log(`${what.padEnd(60)} ${figure}`);
  await plane.stop();
  removeDirectory(directory);
}

function groupOf(n: number): string {
  return `g${Math.floor(n / 10)}.bench.example.com`;
}

/** A schema of some 2 KB, as the middle of those in use. */
function definition(n: number): object {
  const properties = Object.fromEntries(
    Array.from({ length: 20 }, (_, at) => [
      `field${at}`,
      { type: "string", maxLength: 256, description: `What field ${at} says of the object` },
    ]),
  );
  const schema = {
    type: "object",
    properties: {
      spec: { type: "object", properties: { ...properties, n: { type: "string" } } },
      status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    },
  };
  const version = { name: "v1", served: true, storage: true, subresources: { status: {} } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `things${n}.${groupOf(n)}` },
    spec: {
      group: groupOf(n),
      scope: "Namespaced",
      names: { plural: `things${n}`, singular: `thing${n}`, kind: `Thing${n}` },
      versions: [{ ...version, schema: { openAPIV3Schema: schema } }],
    },
  };
}

function isEstablished(object: unknown): boolean {
  const { status } = object as { status?: { conditions?: { type: string; status: string }[] } };
  return (status?.conditions ?? []).some(
    (condition) => condition.type === "Established" && condition.status === "True",
  );
}

async function define(n: number): Promise<void> {
  const { status } = await client.request("POST", definitions, definition(n));
  if (status !== 201) throw new Error(`definition ${n}: ${status}`);
  const path = `${definitions}/things${n}.${groupOf(n)}`;
  while (!isEstablished((await client.request("GET", path)).body)) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function manyDefinitions(): Promise<void> {
  const count = flags.number("definitions");
  await settle();
  const residentBefore = residentBytes(plane.pid);
  const cpuBefore = cpuSeconds(plane.pid);
  const startMs = performance.now();
  await inBatches(count, async (n) => {
    const { status } = await client.request("POST", definitions, definition(n + 1));
    if (status !== 201) throw new Error(`definition ${n}: ${status}`);
  });
  for (;;) {
    const { body } = await client.request("GET", definitions);
    const items = (body as { items?: unknown[] }).items ?? [];
    if (items.filter(isEstablished).length > count) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const tookS = (performance.now() - startMs) / 1000;
  const cpuMs = ((cpuSeconds(plane.pid) - cpuBefore) * 1000) / count;
  add(
    `${count} definitions established (<= 15 s)`,
    `${tookS.toFixed(1)} s, ${cpuMs.toFixed(1)} ms CPU each`,
  );
  await settle();
  const eachKb = (residentBytes(plane.pid) - residentBefore) / count / 1000;
  add("resident memory of each (<= 100 KB)", `${eachKb.toFixed(0)} KB`);
  const further = 20;
  const before = cpuSeconds(plane.pid);
  for (let n = 0; n < further; n++) await define(count + 1 + n);
  const each = ((cpuSeconds(plane.pid) - before) * 1000) / further;
  add("a further definition (<= 20 ms)", `${each.toFixed(1)} ms CPU`);
}

async function documents(): Promise<void> {
  for (const path of ["/apis", "/openapi/v2", "/openapi/v3", "/openapi/v2"]) {
    const startMs = performance.now();
    const { status } = await client.request("GET", path);
    add(`GET ${path} (${status})`, `${((performance.now() - startMs) / 1000).toFixed(2)} s`);
  }
}

/** In this process, of an object of 2 KB: reading values, five evaluations, no findings. */
function rules(): void {
  const texts = [
    "self.field0.startsWith('x')",
    "self.field1.size() <= 256 && self.field2 != 'y'",
    "!has(self.field3) || self.field3.matches('^[a-z]+$')",
    "[self.field4, self.field5].all(f, f == self.field6)",
    "!has(oldSelf.n) || self.n == oldSelf.n",
  ];
  const field = { type: "string", maxLength: 256 };
  const fields = Object.fromEntries(Array.from({ length: 18 }, (_, at) => [`field${at}`, field]));
  const spec = { type: "object", properties: { ...fields, n: field } };
  const ruled = { ...spec, "x-kubernetes-validations": texts.map((rule) => ({ rule })) };
  const { check } = rulesOf(trustStructural({ type: "object", properties: { spec: ruled } }));
  const object = custom(1) as AnyObject;
  const times = 20_000;
  let startMs = 0;
  for (let n = -times; n < times; n++) {
    if (n === 0) startMs = performance.now();
    const found = check(object, object);
    if (found.errors.length !== 0) throw new Error("the rules found something");
  }
  const eachUs = ((performance.now() - startMs) * 1000) / times;
  add("5 rules about an object (<= 50 us)", `${eachUs.toFixed(1)} us`);
}

function custom(n: number): object {
  const fields = Array.from({ length: 18 }, (_, at) => [`field${at}`, text]);
  const spec = { ...Object.fromEntries(fields), n: "0" };
  return { apiVersion: `${groupOf(0)}/v1`, kind: "Thing0", metadata: { name: `o${n}` }, spec };
}

function builtin(n: number): object {
  const fields = Array.from({ length: 18 }, (_, at) => [`field${at}`, text]);
  return { metadata: { name: `o${n}` }, data: { ...Object.fromEntries(fields), n: "0" } };
}

async function writes(): Promise<void> {
  const count = flags.number("writes");
  // Warm: the first writes of a process are compiled.
  await measure(count, paths.builtin, (n) => builtin(n + 1_000_000));
  await measure(count, paths.custom, (n) => custom(n + 1_000_000));
  const maps = await measure(count, paths.builtin, builtin);
  const own = await measure(count, paths.custom, custom);
  add("create of 2 KB: ConfigMap, custom (<= 1.3 x)", ratio(maps, own));
  const patchMaps = await patches(count, paths.builtin, (n) => ({ data: { n: String(n) } }));
  const patchOwn = await patches(count, paths.custom, (n) => ({ spec: { n: String(n) } }));
  add("merge patch of 2 KB: ConfigMap, custom (<= 1.3 x)", ratio(patchMaps, patchOwn));
}

/** @returns CPU milliseconds of the server per write. */
async function measure(count: number, path: string, make: (n: number) => object): Promise<number> {
  return costOf(count, async (n) => {
    const { status } = await client.request("POST", path, make(n));
    if (status !== 201) throw new Error(`POST ${path}: ${status}`);
  });
}

async function patches(count: number, path: string, make: (n: number) => object): Promise<number> {
  return costOf(count, async (n) => {
    const { status } = await client.request("PATCH", `${path}/o${n}`, make(n + 1), merge);
    if (status !== 200) throw new Error(`PATCH ${path}: ${status}`);
  });
}

async function costOf(count: number, write: (n: number) => Promise<void>): Promise<number> {
  const before = cpuSeconds(plane.pid);
  await inBatches(count, write);
  return ((cpuSeconds(plane.pid) - before) * 1000) / count;
}

async function lists(): Promise<void> {
  const count = flags.number("objects");
  await inBatches(count, (n) => post(paths.builtin, builtin(n + 2_000_000)));
  await inBatches(count, (n) => post(paths.custom, custom(n + 2_000_000)));
  const [maps, own] = [await listMs(paths.builtin), await listMs(paths.custom)];
  add(`list of ${count}: ConfigMaps, custom`, ratio(maps, own));
}

async function post(path: string, body: object): Promise<void> {
  const { status } = await client.request("POST", path, body);
  if (status !== 201) throw new Error(`POST ${path}: ${status}`);
}

/** CPU of the server: the clock would measure this process, which parses the answer. */
async function listMs(path: string): Promise<number> {
  const runs = 10;
  await client.request("GET", path);
  const before = cpuSeconds(plane.pid);
  for (let run = 0; run < runs; run++) await client.request("GET", path);
  return ((cpuSeconds(plane.pid) - before) * 1000) / runs;
}

async function inBatches(count: number, one: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await one(n);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5_000));
}

function ratio(a: number, b: number): string {
  return `${a.toFixed(2)} and ${b.toFixed(2)} ms CPU: ${(b / a).toFixed(2)} x`;
}

function add(what: string, figure: string): void {
  rows.push({ what, figure });
}
