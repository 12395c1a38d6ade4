/**
 * Our server makes of a manifest what a stock kube-apiserver 1.36 makes of it: the same defaults,
 * prepared fields and initial status, field for field.
 *
 * golden/stock-1.36.json holds pairs (manifest, answer of the stock server to a create with
 * dryRun=All, without managedFields). What must differ is blanked on both sides: identity, time, and allocated addresses.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { builtinResources } from "#api/schema/resources.ts";
import { removeDirectory, startUp, temporaryDirectory, type Running } from "./harness.ts";
import { credentialsOf, KubeHttp } from "./kube-http.ts";

interface Meta {
  readonly name: string;
  readonly namespace?: string;
}

interface Document {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Meta;
}

interface Pair {
  readonly input: Document;
  readonly output: Document;
}

const file = join(dirname(fileURLToPath(import.meta.url)), "golden", "stock-1.36.json");
const pairs = JSON.parse(readFileSync(file, "utf8")) as readonly Pair[];

describe("a create, dry run", () => {
  const directory = temporaryDirectory("golden");
  let up: Running;
  let http: KubeHttp;
  before(async () => {
    up = await startUp(["--data-dir", join(directory, "data"), "--port", "0", "--nodes", "0"]);
    http = new KubeHttp(credentialsOf(up.kubeconfig));
    await http.request("POST", "/api/v1/namespaces", named("Namespace", "golden"));
    for (const name of ["default", "api"]) {
      await http.request(
        "POST",
        "/api/v1/namespaces/golden/serviceaccounts",
        named("ServiceAccount", name),
      );
    }
  });
  after(async () => {
    http.close();
    await up.stop();
    removeDirectory(directory);
  });

  for (const { input, output } of pairs) {
    test(`${input.apiVersion} ${input.kind} ${input.metadata.name} is as stock makes it`, async () => {
      const answer = await http.request("POST", `${collectionPath(input)}?dryRun=All`, input);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      assert.deepEqual(blank(answer.body), blank(output));
    });
  }
});

function named(kind: string, name: string): unknown {
  return { apiVersion: "v1", kind, metadata: { name } };
}

function collectionPath(object: Document): string {
  const info = builtinResources().find((row) => {
    const apiVersion = row.group === "" ? row.version : `${row.group}/${row.version}`;
    return row.kind === object.kind && apiVersion === object.apiVersion;
  });
  assert.ok(info, `${object.apiVersion} ${object.kind} is not served`);
  const base = info.group === "" ? `/api/${info.version}` : `/apis/${info.group}/${info.version}`;
  return info.namespaced
    ? `${base}/namespaces/golden/${info.resource}`
    : `${base}/${info.resource}`;
}

/** Keys whose values are made up anew by every server. */
const volatile = new Set([
  "uid",
  "creationTimestamp",
  "resourceVersion",
  "clusterIP",
  "clusterIPs",
  "nodePort",
  "username",
  "groups",
  "controller-uid",
  "batch.kubernetes.io/controller-uid",
]);

function blank(value: unknown): unknown {
  if (typeof value === "string")
    return value.replace(/^kube-api-access-\w{5}$/, "kube-api-access-x");
  if (Array.isArray(value)) return value.map(blank);
  if (typeof value !== "object" || value === null) return value;
  // Go writes null, "" and {} for some fields that it could leave out; to every client they are the same.
  const known = Object.entries(value).filter(
    ([key, inner]) => !["managedFields", "uid", "extra"].includes(key) && !isEmpty(inner),
  );
  const entries = known.map(([key, inner]) => {
    return [key, volatile.has(key) && inner !== "None" ? "<made>" : blank(inner)] as const;
  });
  return Object.fromEntries(entries);
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === "") return true;
  if (typeof value !== "object") return false;
  return Object.values(value).every(isEmpty);
}
