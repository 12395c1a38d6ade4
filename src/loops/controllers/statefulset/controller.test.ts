/** StatefulSets over the API in memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  ControllerRevision,
  PersistentVolumeClaim,
  Pod,
  StatefulSet,
} from "#api/gen/types.ts";
import { refs } from "../framework/refs.ts";
import { hashLabel, revisionHashLabel } from "../pods/revisions.ts";
import {
  container,
  createWorld,
  names,
  readyStatus,
  selector,
  template,
  type World,
} from "../testing/world.ts";
import { StatefulSetController } from "./controller.ts";

type Spec = NonNullable<StatefulSet["spec"]>;

function statefulSet(fields: Partial<Spec> = {}): StatefulSet {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: "default", generation: 1, annotations: { note: "one" } },
    spec: {
      replicas: 2,
      selector,
      template,
      serviceName: "web",
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }],
      ...fields,
    },
  };
}

function stored(world: World): StatefulSet {
  return world.api.peek<StatefulSet>(refs.statefulsets, "default", "web") ?? {};
}

function change(world: World, fields: Partial<Spec>): void {
  const { spec, metadata, ...rest } = stored(world);
  const generation = (metadata?.generation ?? 0) + 1;
  world.api.put(refs.statefulsets, {
    ...rest,
    metadata: { ...metadata, generation },
    spec: { selector, template: {}, ...spec, ...fields },
  });
}

/** Makes pods ready and lets going ones go, until nothing changes any more. */
async function converge(world: World): Promise<void> {
  for (let round = 0; round < 20; round++) {
    await world.rest();
    const unready = world.api
      .peekAll<Pod>(refs.pods)
      .filter((one) => one.status?.phase !== "Running");
    if (unready.length === 0) return;
    for (const one of unready) world.setPod(one.metadata?.name ?? "", readyStatus(world.now()));
  }
  assert.fail("no end");
}

test("pods come in order, each after its claim, and a second run writes nothing", async () => {
  const world = createWorld();
  world.api.put(refs.statefulsets, statefulSet());
  await world.start((deps) => new StatefulSetController(deps));
  assert.deepEqual(names(world.api, refs.pods), ["web-0"]);
  const order = world.writes().filter((call) => call.startsWith("create "));
  assert.deepEqual(order.slice(1, 3), [
    "create persistentvolumeclaims default/data-web-0",
    "create pods default/web-0",
  ]);
  await converge(world);
  assert.deepEqual(names(world.api, refs.pods), ["web-0", "web-1"]);
  assert.equal(stored(world).status?.availableReplicas, 2);
  assert.equal(stored(world).status?.currentRevision, stored(world).status?.updateRevision);
  await world.stop();
  world.forgetCalls();
  await world.start((deps) => new StatefulSetController(deps));
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

test("revisions carry the template's labels, the set's annotations and the hash; pods name theirs", async () => {
  const world = createWorld();
  world.api.put(refs.statefulsets, statefulSet());
  await world.start((deps) => new StatefulSetController(deps));
  const revision = world.api.peekAll<ControllerRevision>(refs.controllerrevisions)[0];
  const name = revision?.metadata?.name ?? "";
  assert.equal(revision?.metadata?.labels?.["app"], "web");
  assert.equal(name, `web-${revision?.metadata?.labels?.[hashLabel]}`);
  assert.deepEqual(revision?.metadata?.annotations, { note: "one" });
  const first = world.api.peek<Pod>(refs.pods, "default", "web-0");
  assert.equal(first?.metadata?.labels?.[revisionHashLabel], name);
  await world.stop();
});

test("an update replaces from the top; going back uses the old revision again", async () => {
  const world = createWorld();
  world.api.put(refs.statefulsets, statefulSet());
  await world.start((deps) => new StatefulSetController(deps));
  await converge(world);
  const first = stored(world).status?.currentRevision;
  change(world, {
    template: { ...template, spec: { containers: [{ ...container, image: "2" }] } },
  });
  await world.rest();
  assert.deepEqual(names(world.api, refs.pods), ["web-0", "web-1"]);
  assert.equal(world.api.peek<Pod>(refs.pods, "default", "web-1")?.status?.phase, "Pending");
  await converge(world);
  const second = stored(world).status?.currentRevision;
  assert.notEqual(second, first);
  change(world, { template });
  await converge(world);
  assert.equal(stored(world).status?.currentRevision, first);
  assert.equal(world.api.peekAll(refs.controllerrevisions).length, 2);
  await world.stop();
});

test("claims outlive their pods unless the policy gives them to the pod that goes", async () => {
  const world = createWorld();
  world.api.put(refs.statefulsets, statefulSet());
  await world.start((deps) => new StatefulSetController(deps));
  await converge(world);
  const owners = (name: string): readonly string[] =>
    (
      world.api.peek<PersistentVolumeClaim>(refs.persistentvolumeclaims, "default", name)?.metadata
        ?.ownerReferences ?? []
    ).map((owner) => `${owner.kind}/${owner.name}`);
  assert.deepEqual(owners("data-web-1"), []);
  const mine = { metadata: { name: "data-web-7", namespace: "default" } };
  world.api.put(refs.persistentvolumeclaims, mine);
  const policy = { whenScaled: "Delete", whenDeleted: "Delete" };
  change(world, { replicas: 1, persistentVolumeClaimRetentionPolicy: policy });
  await converge(world);
  assert.deepEqual(names(world.api, refs.pods), ["web-0"]);
  assert.deepEqual(owners("data-web-1"), ["Pod/web-1"]);
  assert.deepEqual(owners("data-web-0"), ["StatefulSet/web"]);
  // A claim made by hand for a future pod is not changed.
  assert.deepEqual(owners("data-web-7"), []);
  change(world, { replicas: 2 });
  await world.advance(2_000);
  assert.deepEqual(names(world.api, refs.pods), ["web-0"]);
  world.api.drop(refs.persistentvolumeclaims, "default", "data-web-1");
  await world.advance(2_000);
  assert.deepEqual(names(world.api, refs.pods), ["web-0", "web-1"]);
  await world.stop();
});

test("pods and revisions left by an orphaning delete are taken over, with their labels mended", async () => {
  const world = createWorld();
  world.api.put(refs.statefulsets, statefulSet());
  await world.start((deps) => new StatefulSetController(deps));
  await converge(world);
  await world.stop();
  for (const ref of [refs.pods, refs.controllerrevisions]) {
    for (const object of world.api.peekAll(ref)) {
      const { ownerReferences: _owners, ...metadata } = object.metadata ?? {};
      const { "statefulset.kubernetes.io/pod-name": _name, ...labels } = metadata.labels ?? {};
      world.api.put(ref, { ...object, metadata: { ...metadata, labels } });
    }
  }
  world.api.drop(refs.statefulsets, "default", "web");
  world.api.put(refs.statefulsets, statefulSet());
  await world.start((deps) => new StatefulSetController(deps));
  const uid = stored(world).metadata?.uid;
  for (const ref of [refs.pods, refs.controllerrevisions])
    for (const object of world.api.peekAll(ref))
      assert.equal(object.metadata?.ownerReferences?.[0]?.uid, uid);
  const first = world.api.peek<Pod>(refs.pods, "default", "web-0");
  assert.equal(first?.metadata?.labels?.["statefulset.kubernetes.io/pod-name"], "web-0");
  assert.equal(world.api.peekAll(refs.controllerrevisions).length, 1);
  await world.stop();
});

const other = { spec: { template: { spec: { containers: [] }, $patch: "replace" } } };

test("a revision whose name another template has gets the next count, which the status tells", async () => {
  const world = createWorld();
  world.api.put(refs.statefulsets, statefulSet());
  await world.start((deps) => new StatefulSetController(deps));
  const made = revisionsOf(world)[0];
  await world.stop();

  const again = createWorld();
  const foreign = { name: made?.metadata?.name ?? "", namespace: "default", labels: {} };
  again.api.put(refs.controllerrevisions, { ...made, metadata: foreign, data: other } as never);
  again.api.put(refs.statefulsets, statefulSet());
  await again.start((deps) => new StatefulSetController(deps));
  await converge(again);
  const [own] = revisionsOf(again).filter(({ metadata }) => metadata?.name !== foreign.name);
  assert.equal(stored(again).status?.collisionCount, 1);
  assert.equal(stored(again).status?.updateRevision, own?.metadata?.name);
  // Upstream names it anew and leaves the label as it was.
  assert.equal(own?.metadata?.labels?.[hashLabel], made?.metadata?.labels?.[hashLabel]);
  again.forgetCalls();
  await again.advance(60_000);
  assert.deepEqual(again.writes(), []);
  await again.stop();
});

test("a revision in the form of an earlier version is adopted: no pod is restarted", async () => {
  const world = createWorld();
  world.api.put(refs.statefulsets, statefulSet());
  await world.start((deps) => new StatefulSetController(deps));
  await converge(world);
  const [made] = revisionsOf(world);
  await world.stop();

  // The template as the API has it, which is not how Go's encoder writes it.
  const data = { spec: { template: { ...template, $patch: "replace" } } };
  assert.notDeepEqual(made?.data, data);
  world.api.put(refs.controllerrevisions, { ...made, data } as never);
  world.forgetCalls();
  await world.start((deps) => new StatefulSetController(deps));
  await world.advance(60_000);
  assert.deepEqual(world.writes(), []);
  await world.stop();
});

function revisionsOf(world: World): readonly ControllerRevision[] {
  return world.api.peekAll<ControllerRevision>(refs.controllerrevisions);
}
