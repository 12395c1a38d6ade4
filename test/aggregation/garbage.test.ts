/**
 * Garbage collection and namespace deletion across aggregated APIs: objects of the sample server as owners
 * and as dependents, and what happens while their API is away.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  type AggregatedPlane,
  type Answer,
  apiServices,
  conditionIs,
  items,
  type Json,
  makeSlice,
  must,
  type SampleServer,
  startAggregatedPlane,
  startWardle,
  text,
  until,
} from "./aggregated-plane.ts";

const system = "sample-system";
const service = { name: "wardle", namespace: system };
const apiService = "v1alpha1.wardle.example.com";
const flunders = "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders";
const configMaps = "/api/v1/namespaces/default/configmaps";
const merge = { "content-type": "application/merge-patch+json" };
const stale =
  "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: " +
  "wardle.example.com/v1alpha1: stale GroupVersion discovery: wardle.example.com/v1alpha1";

describe("objects of an aggregated API are collected as any others", () => {
  let world: AggregatedPlane;
  let sample: SampleServer;

  before(async () => {
    world = await startAggregatedPlane();
    sample = await startWardle(world, system);
    await lookAtDiscovery("first");
    const isWatch = ({ url }: { readonly url: string }): boolean => /[?&]watch=/.test(url);
    const watched = async (): Promise<true | undefined> => {
      await ask("GET", "/version");
      return sample.seen.some(isWatch) ? true : undefined;
    };
    await until(watched, "the collector never watched the kind");
  });

  after(async () => {
    await world.stop();
    await sample.kill();
  });

  const ask = (method: string, path: string, body?: unknown, headers = {}): Promise<Answer> =>
    world.ask(method, path, { body, headers });

  /** The collector looks at what is served when a definition comes. */
  async function lookAtDiscovery(round: string): Promise<void> {
    const names = { plural: `${round}s`, singular: round, kind: `Look${round}` };
    const schema = { openAPIV3Schema: { type: "object" } };
    const versions = [{ name: "v1", served: true, storage: true, schema }];
    const spec = { group: "look.example.com", scope: "Namespaced", names, versions };
    const metadata = { name: `${round}s.look.example.com` };
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await must(ask("POST", path, { metadata, spec }));
  }

  async function make(path: string, name: string, metadata: object = {}): Promise<Json> {
    const kind = path === flunders ? "Flunder" : "ConfigMap";
    const apiVersion = path === flunders ? "wardle.example.com/v1alpha1" : "v1";
    const body = { apiVersion, kind, metadata: { name, ...metadata } };
    const { json } = await must(ask("POST", path, body));
    return json;
  }

  function ownedBy({ apiVersion, kind, metadata }: Json): { ownerReferences: readonly object[] } {
    const { name, uid } = { name: metadata?.["name"], uid: metadata?.["uid"] };
    return { ownerReferences: [{ apiVersion, kind, name, uid, blockOwnerDeletion: true }] };
  }

  const never: Json = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "never", uid: "00000000-0000-4000-8000-000000000000" },
  } as unknown as Json;

  const gone = (path: string, name: string): Promise<true> =>
    until(async () => {
      const { status } = await ask("GET", `${path}/${name}`);
      return status === 404 ? true : undefined;
    }, `${path}/${name} stayed`);

  const going = (path: string, name: string): Promise<true> =>
    until(async () => {
      const { json } = await ask("GET", `${path}/${name}`);
      return json["metadata"]?.["deletionTimestamp"] === undefined ? undefined : true;
    }, `${path}/${name} was not deleted`);

  /** What the collector had to do by then, it has done: it has come round to garbage made later. */
  async function collectorComesRound(round: string): Promise<void> {
    for (const pass of ["a", "b", "c"]) {
      const owner = await make(configMaps, `${round}-${pass}-owner`);
      await must(ask("DELETE", `${configMaps}/${round}-${pass}-owner`));
      await make(configMaps, `${round}-${pass}-child`, ownedBy(owner));
      await gone(configMaps, `${round}-${pass}-child`);
    }
  }

  const unhold = (
    path: string,
    name: string,
    finalizers: readonly string[] = [],
  ): Promise<Answer> => must(ask("PATCH", `${path}/${name}`, { metadata: { finalizers } }, merge));

  for (const [owners, dependents, what] of [
    [flunders, configMaps, "a remote owner of a local object"],
    [configMaps, flunders, "a local owner of a remote object"],
  ] as const) {
    test(`${what}, deleted in the background, takes it along`, async () => {
      const owner = await make(owners, "background");
      await make(dependents, "background-child", ownedBy(owner));
      await must(ask("DELETE", `${owners}/background`));
      await gone(dependents, "background-child");
    });

    test(`${what}, deleted in the foreground, goes after it`, async () => {
      const owner = await make(owners, "foreground");
      const held = { ...ownedBy(owner), finalizers: ["example.com/hold"] };
      await make(dependents, "foreground-child", held);
      // Until the collector has seen the child: an owner without children does not wait.
      await make(dependents, "foreground-lost", ownedBy(never));
      await gone(dependents, "foreground-lost");
      await must(ask("DELETE", `${owners}/foreground`, { propagationPolicy: "Foreground" }));
      await going(dependents, "foreground-child");
      assert.equal((await ask("GET", `${owners}/foreground`)).status, 200);
      await unhold(dependents, "foreground-child");
      await gone(owners, "foreground");
    });
  }

  async function terminatingConditions(name: string): Promise<readonly Json[]> {
    return until(async () => {
      const { json } = await ask("GET", `/api/v1/namespaces/${name}`);
      const conditions = items(json["status"]?.["conditions"]);
      return conditions.length === 0 ? undefined : conditions;
    }, `namespace ${name} never had conditions`);
  }

  test("while the API is away the collector goes on, its dependents live and namespaces stay Terminating", async () => {
    const seen = await make(flunders, "seen");
    await make(configMaps, "of-seen", ownedBy(seen));
    await make(configMaps, "of-lost", ownedBy(seen));
    const slices = `/apis/discovery.k8s.io/v1/namespaces/${system}/endpointslices/wardle`;
    await must(ask("DELETE", slices));
    await conditionIs(world, apiService, "False");
    const unseen = { ...seen, metadata: { ...seen["metadata"], uid: "never-seen" } } as never;
    await make(configMaps, "of-unseen", ownedBy(unseen));
    await lookAtDiscovery("second");
    await collectorComesRound("away");
    assert.equal((await ask("GET", `${configMaps}/of-seen`)).status, 200);
    assert.equal((await ask("GET", `${configMaps}/of-unseen`)).status, 200);

    await must(ask("POST", "/api/v1/namespaces", { metadata: { name: "held" } }));
    await must(ask("DELETE", "/api/v1/namespaces/held"));
    const conditions = await terminatingConditions("held");
    const discovery = conditions.find(
      ({ type }) => text(type) === "NamespaceDeletionDiscoveryFailure",
    );
    assert.equal(discovery?.["status"], "True");
    assert.equal(discovery["reason"], "DiscoveryFailed");
    assert.equal(discovery["message"], stale);
    assert.deepEqual(
      conditions.map(({ type, status, reason }) => [type, status, reason].map(text).join(" ")),
      [
        "NamespaceDeletionDiscoveryFailure True DiscoveryFailed",
        "NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions",
        "NamespaceDeletionContentFailure False ContentDeleted",
        "NamespaceContentRemaining False ContentRemoved",
        "NamespaceFinalizersRemaining False ContentHasNoFinalizers",
      ],
    );

    await makeSlice(world, { ...service, address: "10.3.0.1" });
    await conditionIs(world, apiService, "True");
    await gone("/api/v1/namespaces", "held");
    await gone(configMaps, "of-unseen");
    assert.equal((await ask("GET", `${configMaps}/of-seen`)).status, 200);
  });

  test("an APIService that is deleted takes nothing along: its 404 is no proof that an owner is gone", async () => {
    const { json: seen } = await must(ask("GET", `${flunders}/seen`));
    await must(ask("DELETE", `${apiServices}/${apiService}`));
    assert.equal((await ask("GET", `${flunders}/seen`)).status, 404);
    // Not yet known to the collector to be unserved, and then known.
    await make(
      configMaps,
      "unserved-1",
      ownedBy({ ...seen, metadata: { ...seen["metadata"], uid: "x" } } as never),
    );
    await collectorComesRound("unserved");
    await lookAtDiscovery("third");
    await lookAtDiscovery("fourth");
    await collectorComesRound("unknown");
    assert.equal((await ask("GET", `${configMaps}/of-seen`)).status, 200);
    assert.equal((await ask("GET", `${configMaps}/unserved-1`)).status, 200);
  });
});
