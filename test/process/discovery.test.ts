/** What the server says it serves: all of 1.36, and of the stable versions what stock 1.36 says, word for word. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { removeDirectory, startUp, temporaryDirectory, type Running } from "./harness.ts";
import { credentialsOf, KubeHttp, type Json } from "./kube-http.ts";

const file = join(import.meta.dirname, "golden", "discovery-1.36.json");
const recorded = JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, Json>>;

/** All of them, also those of gates that stock has off. */
const everyVersion = [
  "api/all=true",
  "certificates.k8s.io/v1alpha1",
  "certificates.k8s.io/v1beta1",
  "scheduling.k8s.io/v1alpha2",
  "storagemigration.k8s.io/v1beta1",
];

describe("discovery with every version switched on", () => {
  const directory = temporaryDirectory("discovery");
  let up: Running;
  let http: KubeHttp;
  before(async () => {
    const data = join(directory, "data");
    const config = `--runtime-config=${everyVersion.join(",")}`;
    up = await startUp(["--data-dir", data, "--port", "0", "--nodes", "0", config]);
    http = new KubeHttp(credentialsOf(up.kubeconfig));
  });
  after(async () => {
    http.close();
    await up.stop();
    removeDirectory(directory);
  });

  test("names 36 group-versions with 95 resources", async () => {
    const groups = (await http.request("GET", "/apis")).body[
      "groups"
    ] as unknown as readonly Group[];
    const paths = [
      "/api/v1",
      ...groups.flatMap(({ versions }) => versions.map((v) => `/apis/${v.groupVersion}`)),
    ];
    assert.equal(paths.length, 36);
    const lists = await Promise.all(paths.map((path) => http.request("GET", path)));
    const names = lists.flatMap(({ body }) =>
      (body["resources"] as unknown as readonly Json[]).map((r) => String(r["name"])),
    );
    assert.equal(names.filter((name) => !name.includes("/")).length, 95);
  });

  for (const [groupVersion, expected] of Object.entries(recorded)) {
    test(`${groupVersion} is described as stock describes it`, async () => {
      const path = groupVersion === "v1" ? "/api/v1" : `/apis/${groupVersion}`;
      const { body } = await http.request("GET", path);
      assert.deepEqual(byName(body), byName(expected));
    });
  }
});

interface Group {
  readonly versions: readonly { readonly groupVersion: string }[];
}

/** Stock stores these in a beta version still, we in v1: their hashes of the storage version differ. */
const storedElsewhere = [
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
  "CustomResourceDefinition",
];

/** The order of resources says nothing. */
function byName(list: Json): Readonly<Record<string, unknown>> {
  const resources = list["resources"] as unknown as readonly Json[];
  const entries = resources.map((resource) => {
    const { storageVersionHash: hash, ...rest } = resource as Readonly<Record<string, unknown>>;
    const same = storedElsewhere.includes(String(resource["kind"])) ? {} : { hash };
    return [String(resource["name"]), { ...rest, ...same }] as const;
  });
  return Object.fromEntries(entries);
}
