/** Requests, definitions and rules that try to reach a version, or what it stored, after it was switched off. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { given } from "#base/given.ts";
import { runtimeConfig, servedResources } from "#cmd/plane/runtime-config.ts";
import { type Answered, RelayedPlane, type Sent } from "./relayed-plane.ts";

const group = "coordination.k8s.io";
const off = `/apis/${group}/v1beta1`;
const candidates = `${off}/namespaces/default/leasecandidates`;
const candidate = {
  apiVersion: `${group}/v1beta1`,
  kind: "LeaseCandidate",
  metadata: { name: "kept" },
  spec: {
    leaseName: "a",
    binaryVersion: "1.36.0",
    emulationVersion: "1.36.0",
    strategy: "OldestEmulationVersion",
  },
};
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const claimed = `${definitions}/leasecandidates.${group}`;
const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: `leasecandidates.${group}`,
    annotations: { "api-approved.kubernetes.io": "unapproved, for a test" },
  },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural: "leasecandidates", singular: "leasecandidate", kind: "LeaseCandidate" },
    versions: ["v1beta1", "v9"].map((name, at) => ({
      name,
      served: true,
      storage: at === 0,
      schema: {
        openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    })),
  },
};
const gate = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name: "gate" },
  spec: {
    matchConstraints: {
      resourceRules: [
        { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] },
      ],
    },
    validations: [{ expression: "object.metadata.name != 'forbidden'", message: "gated" }],
  },
};
const binding = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  metadata: { name: "gate" },
  spec: { policyName: "gate", validationActions: ["Deny"] },
};
const admission = "/apis/admissionregistration.k8s.io/v1";
const maps = "/api/v1/namespaces/default/configmaps";

const everyVerb: readonly (readonly [method: string, path: string])[] = [
  ["GET", candidates],
  ["GET", `${candidates}?watch=true`],
  ["GET", `${off}/leasecandidates`],
  ["GET", `${off}/watch/leasecandidates`],
  ["GET", `${candidates}/kept`],
  ["GET", `${candidates}/kept/status`],
  ["POST", candidates],
  ["PUT", `${candidates}/kept`],
  ["PATCH", `${candidates}/kept`],
  ["DELETE", `${candidates}/kept`],
  ["DELETE", candidates],
  ["OPTIONS", candidates],
  ["GET", off],
  // Beside the version that is served, and beside the one it was served with.
  ["GET", `/apis/${group}/v1/namespaces/default/leasecandidates/kept`],
  ["GET", `/apis/${group}/v1alpha2/namespaces/default/leasecandidates/kept`],
  ["GET", `/apis/${group}//namespaces/default/leasecandidates/kept`],
];

describe("a version that was switched off", () => {
  const directory = mkdtempSync(join(tmpdir(), "pilothouse-switched-off-"));
  let world: RelayedPlane;
  const admin = (method: string, path: string, body?: object, door: "plane" | "relay" = "plane") =>
    world.ask(door, method, path, { as: world.admin, ...given({ body }) });

  /** The same store, with other versions. */
  async function start(config: string, mirrored?: string): Promise<void> {
    const resources = servedResources(runtimeConfig(config, new Map()));
    world = await RelayedPlane.start({ storeDirectory: directory, resources }, mirrored);
  }

  async function restart(config: string, mirrored?: string): Promise<void> {
    await world.stop();
    await start(config, mirrored);
  }

  before(async () => {
    await start(`${group}/v1beta1=true`);
    for (const [path, body] of [
      [candidates, candidate],
      [`${admission}/validatingadmissionpolicies`, gate],
      [`${admission}/validatingadmissionpolicybindings`, binding],
    ] as const) {
      const made = await admin("POST", path, body);
      assert.equal(made.status, 201, made.text);
    }
    await restart(
      "admissionregistration.k8s.io/v1=false",
      `nodes,${group}/v1beta1/leasecandidates`,
    );
  });
  after(async () => {
    await world.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  for (const door of ["plane", "relay"] as const) {
    test(`answers 404 to every verb at the ${door}, and 403 before it to those without rights`, async () => {
      const nobody = world.certificate("nobody");
      for (const [method, path] of everyVerb) {
        const body = method === "GET" || method === "OPTIONS" ? {} : { body: candidate };
        const answer = await world.ask(door, method, path, { as: world.admin, ...body });
        assert.equal(answer.status, 404, `${method} ${path}: ${answer.text}`);
        assert.doesNotMatch(answer.text, /LeaseCandidate/);
        if (path === off) continue;
        const refused = await world.ask(door, method, path, { as: nobody, ...body });
        assert.equal(refused.status, 403, `${method} ${path}: ${refused.text}`);
      }
    });
  }

  test("takes no body on a path of a version that is served", async () => {
    const leases = `/apis/${group}/v1/namespaces/default/leases`;
    const lease = { kind: "Lease", metadata: { name: "a" }, spec: {} };
    for (const apiVersion of [`${group}/v1beta1`, `${group}/v1alpha1`]) {
      const answer = await admin("POST", leases, { ...lease, apiVersion });
      assert.equal(answer.status, 400, answer.text);
    }
  });

  test("comes not back by a definition of its name, which neither reads nor deletes what it stored", async () => {
    const made = await admin("POST", definitions, definition);
    assert.equal(made.status, 201, made.text);
    await settled(
      () => admin("GET", claimed),
      ({ text }) => /"Established"[^}]*"True"|"True"[^}]*"Established"/.test(text),
    );
    for (const version of ["v1beta1", "v9"]) {
      const path = `/apis/${group}/${version}/namespaces/default/leasecandidates`;
      assert.equal((await admin("GET", path)).status, 404);
      assert.equal((await admin("GET", `${path}/kept`)).status, 404);
      const body = { ...candidate, apiVersion: `${group}/${version}` };
      assert.equal((await admin("POST", path, body)).status, 404);
    }
    assert.equal((await admin("DELETE", claimed)).status, 200);
    await settled(
      () => admin("GET", claimed),
      ({ status }) => status === 404,
    );
  });

  test("leaves policies that it stored in force", async () => {
    assert.equal((await admin("GET", `${admission}/validatingadmissionpolicies`)).status, 404);
    const map = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
    const refused = await admin("POST", maps, map("forbidden"));
    assert.equal(refused.status, 422, refused.text);
    assert.match(refused.text, /gated/);
    assert.equal((await admin("POST", maps, map("allowed"))).status, 201);
  });

  test("opens nothing when it was the version of roles: without them nobody but masters may", async () => {
    await restart("rbac.authorization.k8s.io/v1=false");
    const sent: Sent = { as: world.certificate("nobody") };
    assert.equal((await world.ask("plane", "GET", maps, sent)).status, 403);
    assert.equal((await admin("GET", maps)).status, 200);
    assert.equal((await admin("GET", "/apis/rbac.authorization.k8s.io/v1/roles")).status, 404);
  });

  test("has what it stored when it is switched on again", async () => {
    await restart(`${group}/v1beta1=true`);
    const { status, json } = await admin("GET", `${candidates}/kept`);
    assert.equal(status, 200);
    assert.deepEqual(json["spec"], candidate.spec);
  });
});

async function settled(
  look: () => Promise<Answered>,
  holds: (answer: Answered) => boolean,
): Promise<void> {
  for (let turns = 0; turns < 1000; turns++) if (holds(await look())) return;
  assert.fail("it did not come to that");
}
