/** Create, update and delete against upstream's tables of behaviour and texts. */
import { exactInteger } from "#base/exact-json.ts";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnyObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import {
  configMap,
  newWorld,
  outcome,
  plainUpdate,
  plainWrite,
  put,
  RecordingSink,
} from "./testing/fixture.ts";
import type { World } from "./testing/fixture.ts";
import type { DeleteOptions } from "./resource-store.ts";

const pod: AnyObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: {
    containers: [
      {
        name: "c",
        image: "i",
        imagePullPolicy: "Always",
        terminationMessagePolicy: "File",
        terminationMessagePath: "/x",
      },
    ],
    restartPolicy: "Always",
    dnsPolicy: "ClusterFirst",
    schedulerName: "s",
    terminationGracePeriodSeconds: 30,
    nodeName: "n1",
    securityContext: {},
    enableServiceLinks: true,
  },
  status: {},
};

void describe("create", () => {
  void it("fills metadata, stores the object and can be read back at once", async () => {
    const { resource } = await newWorld();
    const maps = resource("configmaps");
    const made = await maps.create("default", configMap("a", { data: { k: "v" } }), plainWrite);
    const { uid, ...meta } = made.object.metadata ?? {};
    assert.match(uid ?? "", /^[0-9a-f-]{36}$/);
    assert.deepEqual(meta, {
      name: "a",
      namespace: "default",
      creationTimestamp: "2026-01-01T00:00:00Z",
      resourceVersion: "2",
    });
    assert.equal(maps.peek("default", "a"), made);
    const wire = JSON.parse(new TextDecoder().decode(made.json)) as AnyObject;
    assert.deepEqual(wire, made.object);
  });

  void it("refuses what upstream refuses, in its words", async () => {
    const { resource } = await newWorld();
    const maps = resource("configmaps");
    const make = (fields: AnyObject, name = "a"): Promise<string> =>
      outcome(maps.create("default", configMap(name, fields), plainWrite));
    assert.equal(await make({}), "ok");
    assert.equal(await make({}), '409 AlreadyExists: configmaps "a" already exists');
    assert.equal(
      await make({ metadata: { resourceVersion: "7" } }, "b"),
      "500 : resourceVersion should not be set on objects to be created",
    );
    assert.equal(
      await make({ metadata: { namespace: "other" } }, "b"),
      "400 BadRequest: the namespace of the provided object does not match the namespace sent on the request",
    );
    assert.match(await make({}, "B_"), /^422 Invalid: ConfigMap "B_" is invalid: metadata.name: /);
    assert.equal(
      await outcome(maps.create("default", configMap(""), plainWrite)),
      '422 Invalid: ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    );
  });

  void it("says so when the name is taken by an object on its way out", async () => {
    const { resource } = await newWorld();
    const maps = resource("configmaps");
    const held = configMap("a", { metadata: { finalizers: ["x.io/f"] } });
    await maps.create("default", held, plainWrite);
    await maps.delete("default", "a", {}, plainWrite);
    assert.equal(
      await outcome(maps.create("default", configMap("a"), plainWrite)),
      '409 AlreadyExists: object is being deleted: configmaps "a" already exists',
    );
  });

  void it("draws a name from generateName, again when it is taken, and gives up after eight", async () => {
    const random = new FakeRandom(7);
    let draws = 0;
    random.below = () => {
      draws++;
      return 0;
    };
    const { resource } = await newWorld({}, random);
    const maps = resource("configmaps");
    const wanted = { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "g-" } };
    const made = await maps.create("default", wanted, plainWrite);
    assert.match(made.name, /^g-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    assert.equal(draws, 5);
    const error = await maps.create("default", wanted, plainWrite).catch((e: unknown) => e);
    assert.equal(draws, 5 + 8 * 5);
    assert.ok(error instanceof ApiError);
    assert.equal(
      error.message,
      `configmaps "${made.name}" already exists, the server was not able to generate a unique name for the object`,
    );
    assert.equal(error.status.details?.retryAfterSeconds, 1);
  });

  void it("runs admission with the complete object, and a dry run stores nothing", async () => {
    const { resource, store } = await newWorld();
    const maps = resource("configmaps");
    const seen: string[] = [];
    const before = store.commitRevision;
    const made = await maps.create("default", configMap("a"), {
      dryRun: true,
      admit: (next) => void seen.push(next?.metadata?.uid ?? ""),
    });
    assert.equal(seen[0], made.object.metadata?.uid);
    assert.equal(made.resourceVersion, "");
    assert.equal(made.object.metadata?.resourceVersion, undefined);
    assert.equal(store.commitRevision, before);
    assert.equal(maps.size, 0);
  });
});

void describe("update", () => {
  async function withMap(fields: AnyObject = {}): Promise<World & { rv: string }> {
    const world = await newWorld();
    const maps = world.resource("configmaps");
    const made = await maps.create("default", configMap("a", fields), plainWrite);
    return { ...world, rv: made.resourceVersion };
  }

  void it("locks optimistically on the version the object names", async () => {
    const { resource, rv } = await withMap();
    const maps = resource("configmaps");
    const change = (data: AnyObject["data"], resourceVersion: string): Promise<string> =>
      outcome(
        put(maps, "default/a", (old) => ({
          ...old,
          data,
          metadata: { ...old.metadata, resourceVersion },
        })),
      );
    assert.equal(await change({ k: "1" }, rv), "ok");
    assert.equal(
      await change({ k: "2" }, rv),
      '409 Conflict: Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    );
    assert.equal(await change({ k: "3" }, ""), "ok");
    assert.equal(
      await outcome(put(maps, "default/b", (old) => old)),
      '404 NotFound: configmaps "b" not found',
    );
  });

  void it("without a version is refused where the kind demands one", async () => {
    const { resource } = await newWorld();
    const leases = resource("leases.coordination.k8s.io");
    const lease = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "l" },
      spec: {},
    };
    await leases.create("default", lease, plainWrite);
    assert.equal(
      await outcome(put(leases, "default/l", () => ({ ...lease, spec: { holderIdentity: "me" } }))),
      '422 Invalid: leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    );
  });

  void it("of another object by uid is a conflict, not an overwrite", async () => {
    const { resource } = await withMap();
    const maps = resource("configmaps");
    const uid = maps.peek("default", "a")?.object.metadata?.uid;
    assert.equal(
      await outcome(put(maps, "default/a", () => configMap("a", { metadata: { uid: "u" } }))),
      `409 Conflict: Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: u, UID in object meta: ${uid}`,
    );
    assert.equal(
      await outcome(
        put(maps, "default/b", () => configMap("b", { metadata: { uid: "u" } }), {
          createIfMissing: true,
        }),
      ),
      '409 Conflict: Operation cannot be fulfilled on configmaps "b": uid mismatch: the provided object specified uid u, and no existing object was found',
    );
  });

  void it("that changes nothing writes nothing, whatever the order of fields or managed times", async () => {
    const managedFields = [
      {
        manager: "m",
        operation: "Update",
        apiVersion: "v1",
        time: "2026-01-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1: {},
      },
    ];
    const { resource, store, rv } = await withMap({
      data: { a: "1", b: "2" },
      metadata: { managedFields },
    });
    const maps = resource("configmaps");
    const before = store.commitRevision;
    const changes: ((old: AnyObject) => AnyObject)[] = [
      (old) => old,
      (old) => ({ ...old, data: { b: "2", a: "1" } }),
      (old) => ({
        ...old,
        metadata: {
          ...old.metadata,
          managedFields: managedFields.map((f) => ({ ...f, time: "2026-02-02T00:00:00Z" })),
        },
      }),
    ];
    for (const change of changes) {
      const result = await put(maps, "default/a", change);
      assert.equal(result.object.resourceVersion, rv);
    }
    assert.equal(store.commitRevision, before);
  });

  void it("is tried again with the newer object when another write came between", async () => {
    const { resource } = await withMap({ data: { n: "0" } });
    const maps = resource("configmaps");
    const add = (old: AnyObject): AnyObject => {
      const n = Number((old["data"] as { n: string }).n) + 1;
      return { ...old, data: { n: String(n) } };
    };
    const results = await Promise.all(
      Array.from({ length: 20 }, () => put(maps, "default/a", add)),
    );
    assert.equal(new Set(results.map((r) => r.object.resourceVersion)).size, 20);
    assert.deepEqual(maps.peek("default", "a")?.object["data"], { n: "20" });
  });

  void it("cannot touch what the server owns, nor add finalizers to what is going", async () => {
    const { resource } = await withMap({ metadata: { finalizers: ["x.io/f"] } });
    const maps = resource("configmaps");
    await maps.delete("default", "a", {}, plainWrite);
    const changed = await put(maps, "default/a", (old) => ({
      ...old,
      data: { k: "v" },
      metadata: {
        name: "a",
        resourceVersion: old.metadata?.resourceVersion ?? "",
        finalizers: ["x.io/f"],
      },
    }));
    assert.equal(changed.object.object.metadata?.deletionTimestamp, "2026-01-01T00:00:00Z");
    assert.equal(changed.object.object.metadata?.deletionGracePeriodSeconds, 0);
    assert.equal(
      await outcome(
        put(maps, "default/a", (old) => ({
          ...old,
          metadata: { ...old.metadata, finalizers: ["x.io/f", "x.io/g", "x.io/h"] },
        })),
      ),
      '422 Invalid: ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.io/g", "x.io/h"}',
    );
  });

  void it("that takes the last finalizer off a deleting object deletes it", async () => {
    const { resource } = await withMap({ metadata: { finalizers: ["x.io/f"] } });
    const maps = resource("configmaps");
    const sink = new RecordingSink();
    await maps.watch("", { allowBookmarks: false, resourceVersion: "2" }, sink);
    const result = await maps.delete("default", "a", {}, plainWrite);
    assert.equal(result.kind, "pending");
    const gone = await put(maps, "default/a", (old) => ({
      ...old,
      metadata: { ...old.metadata, finalizers: [] },
    }));
    assert.equal(gone.isDeleted, true);
    assert.deepEqual(gone.object.object.metadata?.finalizers, []);
    assert.equal(maps.peek("default", "a"), undefined);
    assert.deepEqual(sink.lines, ["MODIFIED default/a@3", "DELETED default/a@4"]);
  });

  void it("creates where the kind or the caller allows it", async () => {
    const { resource } = await newWorld();
    const result = await put(resource("configmaps"), "default/a", () => configMap("a"), {
      createIfMissing: true,
    });
    assert.equal(result.isCreated, true);
    const lease = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: "l" },
      spec: {},
    };
    const leases = resource("leases.coordination.k8s.io");
    assert.equal((await put(leases, "default/l", () => lease)).isCreated, true);
  });

  void it("of a subresource follows its rules", async () => {
    const { resource } = await newWorld();
    const pods = resource("pods");
    await pods.create("default", pod, plainWrite);
    const result = await put(
      pods,
      "default/web",
      (old) => ({ ...old, spec: {}, status: { phase: "Running" } }),
      { subresource: "status" },
    );
    assert.equal((result.object.object["spec"] as { nodeName: string }).nodeName, "n1");
    assert.equal((result.object.object["status"] as { phase: string }).phase, "Running");
  });
});

void describe("delete", () => {
  async function withPod(change: Partial<AnyObject> = {}): Promise<World> {
    const world = await newWorld();
    await world.resource("pods").create("default", { ...pod, ...change }, plainWrite);
    return world;
  }
  const meta = (world: World): AnyObject["metadata"] =>
    world.resource("pods").peek("default", "web")?.object.metadata;

  void it("with a grace period beyond any clock has a time all the same, as Go's durations wrap", async () => {
    const world = await withPod();
    const remove = (gracePeriodSeconds: number | bigint) =>
      world.resource("pods").delete("default", "web", { gracePeriodSeconds }, plainWrite);
    assert.equal((await remove(exactInteger(2n ** 53n))).kind, "pending");
    assert.equal(meta(world)?.deletionGracePeriodSeconds, 2n ** 53n);
    assert.equal(meta(world)?.deletionTimestamp, "2172-02-20T23:53:38Z");
    assert.equal((await remove(0)).kind, "deleted");
  });

  void it("of a pod gives it its grace, which can only be shortened", async () => {
    const world = await withPod();
    const { clock, resource } = world;
    const remove = async (options: DeleteOptions): Promise<string> =>
      (await resource("pods").delete("default", "web", options, plainWrite)).kind;
    assert.equal(await remove({}), "pending");
    assert.equal(meta(world)?.deletionTimestamp, "2026-01-01T00:00:30Z");
    assert.equal(meta(world)?.deletionGracePeriodSeconds, 30);
    assert.equal(meta(world)?.generation, 2);
    const version = meta(world)?.resourceVersion;
    assert.equal(await remove({}), "pending");
    assert.equal(await remove({ gracePeriodSeconds: 60 }), "pending");
    assert.equal(meta(world)?.resourceVersion, version);
    assert.equal(await remove({ gracePeriodSeconds: 10 }), "pending");
    assert.equal(meta(world)?.deletionTimestamp, "2026-01-01T00:00:10Z");
    clock.tick(8_000);
    assert.equal(await remove({ gracePeriodSeconds: 5 }), "pending");
    assert.equal(meta(world)?.deletionTimestamp, "2026-01-01T00:00:08Z");
    assert.equal(meta(world)?.deletionGracePeriodSeconds, 1);
    assert.equal(meta(world)?.generation, 2);
    assert.equal(await remove({ gracePeriodSeconds: 0 }), "deleted");
    assert.equal(meta(world), undefined);
    assert.equal(
      await outcome(resource("pods").delete("default", "web", {}, plainWrite)),
      '404 NotFound: pods "web" not found',
    );
  });

  async function watched(world: World): Promise<RecordingSink> {
    const sink = new RecordingSink();
    await world.resource("pods").watch("", { allowBookmarks: false }, sink);
    sink.items.length = 0;
    return sink;
  }

  /** As `TYPE @revision grace generation`. */
  const told = ({ items }: RecordingSink): readonly string[] =>
    items.map(({ type, object, resourceVersion }) => {
      const { deletionGracePeriodSeconds: grace, generation } = object?.object.metadata ?? {};
      return `${type} @${resourceVersion} ${grace} ${generation}`;
    });

  const ungraceful: readonly (readonly [string, Partial<AnyObject>, DeleteOptions])[] = [
    ["no grace asked for", {}, { gracePeriodSeconds: 0 }],
    ["no node", { spec: { ...(pod["spec"] as object), nodeName: "" } }, {}],
    [
      "no grace in its spec",
      { spec: { ...(pod["spec"] as object), terminationGracePeriodSeconds: 0 } },
      {},
    ],
    ["background", {}, { gracePeriodSeconds: 0, propagationPolicy: "Background" }],
  ];
  for (const [why, change, options] of ungraceful) {
    void it(`of a pod without grace marks it, and then removes it: ${why}`, async () => {
      const world = await withPod(change);
      const sink = await watched(world);
      const result = await world.resource("pods").delete("default", "web", options, plainWrite);
      assert.equal(result.kind, "deleted");
      assert.equal(result.object.resourceVersion, "4");
      const { deletionTimestamp } = result.object.object.metadata ?? {};
      assert.equal(deletionTimestamp, "2026-01-01T00:00:00Z");
      await world.clock.advance(0);
      assert.deepEqual(told(sink), ["MODIFIED @3 0 2", "DELETED @4 0 2"]);
    });
  }

  void it("without grace of a pod whose grace runs marks it once more; its generation stays", async () => {
    const world = await withPod();
    const remove = (options: DeleteOptions) =>
      world.resource("pods").delete("default", "web", options, plainWrite);
    await remove({});
    world.clock.tick(40_000);
    const sink = await watched(world);
    const result = await remove({ gracePeriodSeconds: 0 });
    assert.equal(result.object.object.metadata?.deletionTimestamp, "2026-01-01T00:00:40Z");
    await world.clock.advance(0);
    assert.deepEqual(told(sink), ["MODIFIED @4 0 2", "DELETED @5 0 2"]);
  });

  void it("of a kind that knows no grace is one revision, and of a pod with finalizers the mark alone", async () => {
    const world = await withPod({ metadata: { name: "web", finalizers: ["x.io/f"] } });
    const maps = world.resource("configmaps");
    await maps.create("default", configMap("a"), plainWrite);
    const gone = await maps.delete("default", "a", { gracePeriodSeconds: 0 }, plainWrite);
    assert.equal(gone.object.resourceVersion, "4");
    const options = { gracePeriodSeconds: 0 };
    const held = await world.resource("pods").delete("default", "web", options, plainWrite);
    assert.deepEqual([held.kind, held.object.resourceVersion], ["pending", "5"]);
  });

  void it("removes a marked pod whatever is written between, and is content if it is gone", async () => {
    for (const between of ["status", "removal", "another"] as const) {
      const world = await withPod();
      const { store } = world;
      const pods = world.resource("pods");
      const remove = store.delete.bind(store);
      let isFirst = true;
      const interrupted: typeof remove = async (...args) => {
        if (!isFirst) return await remove(...args);
        isFirst = false;
        if (between === "status") {
          await put(pods, "default/web", (old) => ({ ...old, status: { phase: "Running" } }), {
            subresource: "status",
          });
        } else await remove(args[0], {});
        if (between === "another") await pods.create("default", pod, plainWrite);
        return await remove(...args);
      };
      store.delete = interrupted;
      const result = await pods.delete("default", "web", { gracePeriodSeconds: 0 }, plainWrite);
      assert.equal(result.kind, "deleted", between);
      assert.equal(result.object.object.metadata?.deletionGracePeriodSeconds, 0, between);
      assert.equal(pods.peek("default", "web") === undefined, between !== "another");
    }
  });

  void it("of a pod that cannot be marked for want of room removes it unmarked", async () => {
    const world = await withPod();
    const { store } = world;
    store.put = () => Promise.resolve({ kind: "no-space", message: "database space exceeded" });
    const pods = world.resource("pods");
    const result = await pods.delete("default", "web", { gracePeriodSeconds: 0 }, plainWrite);
    assert.equal(result.kind, "deleted");
    assert.equal(meta(world), undefined);
  });

  void it("as a dry run shows the pod marked, and leaves it", async () => {
    const world = await withPod();
    const options = { gracePeriodSeconds: 0 };
    const result = await world.resource("pods").delete("default", "web", options, { dryRun: true });
    assert.equal(result.kind, "deleted");
    assert.equal(result.object.object.metadata?.deletionGracePeriodSeconds, 0);
    assert.equal(meta(world)?.deletionTimestamp, undefined);
  });

  void it("checks preconditions, in upstream's words", async () => {
    const world = await withPod();
    const uid = meta(world)?.uid ?? "";
    const remove = (preconditions: DeleteOptions["preconditions"]): Promise<string> =>
      outcome(
        world
          .resource("pods")
          .delete("default", "web", { ...(preconditions && { preconditions }) }, plainWrite),
      );
    assert.equal(
      await remove({ uid: "u" }),
      `409 Conflict: Operation cannot be fulfilled on Pod "web": the UID in the precondition (u) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
    );
    assert.equal(
      await remove({ resourceVersion: "1" }),
      '409 Conflict: Operation cannot be fulfilled on Pod "web": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (2). The object might have been modified',
    );
    assert.equal(await remove({ uid, resourceVersion: "2" }), "ok");
  });

  void it("turns propagation policies into finalizers", async () => {
    const cases: [DeleteOptions, string[]][] = [
      [{ propagationPolicy: "Orphan" }, ["orphan"]],
      [{ propagationPolicy: "Foreground" }, ["foregroundDeletion"]],
      [{ orphanDependents: true }, ["orphan"]],
    ];
    for (const [options, finalizers] of cases) {
      const { resource } = await newWorld();
      const maps = resource("configmaps");
      await maps.create("default", configMap("a"), plainWrite);
      const result = await maps.delete("default", "a", options, plainWrite);
      assert.equal(result.kind, "pending");
      assert.deepEqual(result.object.object.metadata?.finalizers, finalizers);
    }
    const { resource } = await newWorld();
    const maps = resource("configmaps");
    await maps.create("default", configMap("a"), plainWrite);
    const both: DeleteOptions = { orphanDependents: false, propagationPolicy: "Background" };
    assert.equal(
      await outcome(maps.delete("default", "a", both, plainWrite)),
      '422 Invalid: DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Background": orphanDependents and deletionPropagation cannot be both set',
    );
    const result = await maps.delete(
      "default",
      "a",
      { propagationPolicy: "Background" },
      plainWrite,
    );
    assert.equal(result.kind, "deleted");
    assert.equal(result.object.resourceVersion, "3");
  });

  void it("of a namespace makes it Terminating; it goes when its own finalizers are gone", async () => {
    const { resource } = await newWorld();
    const namespaces = resource("namespaces");
    await namespaces.create(
      "",
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "ns" } },
      plainWrite,
    );
    const first = await namespaces.delete("", "ns", {}, plainWrite);
    assert.equal(first.kind, "pending");
    assert.deepEqual(first.object.object["status"], { phase: "Terminating" });
    assert.equal((await namespaces.delete("", "ns", {}, plainWrite)).kind, "pending");
    const result = await put(namespaces, "ns", (old) => ({ ...old, spec: { finalizers: [] } }), {
      subresource: "finalize",
    });
    assert.equal(result.isDeleted, true);
    assert.equal(namespaces.size, 0);
  });

  void it("asks admission with the old object, and a refusal leaves it", async () => {
    const { resource } = await newWorld();
    const maps = resource("configmaps");
    await maps.create("default", configMap("a"), plainWrite);
    const refused = new Error("no");
    const admit = (next: AnyObject | undefined, old: AnyObject | undefined): void => {
      assert.equal(next, undefined);
      assert.equal(old?.metadata?.name, "a");
      throw refused;
    };
    await assert.rejects(maps.delete("default", "a", {}, { dryRun: false, admit }), refused);
    assert.equal(maps.size, 1);
    assert.equal((await maps.delete("default", "a", {}, { dryRun: true })).kind, "deleted");
    assert.equal(maps.size, 1);
  });
});

void describe("events", () => {
  void it("vanish after their time, many on one lease", async () => {
    const { resource, clock } = await newWorld({ eventTtlSeconds: 3600 });
    const events = resource("events");
    for (const name of ["a", "b", "c"]) {
      const event = {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name },
        involvedObject: { namespace: "default" },
      };
      await events.create("default", event, plainWrite);
    }
    await clock.advance(3_600_000 - 1);
    assert.equal(events.size, 3);
    await clock.advance(62_000);
    assert.equal(events.size, 0);
  });
});

void it("an unknown subresource falls back on the rules of the object", async () => {
  const { resource } = await newWorld();
  const maps = resource("configmaps");
  await maps.create("default", configMap("a"), plainWrite);
  const options = { ...plainUpdate, subresource: "scale" };
  const result = await maps.update(
    "default",
    "a",
    (old) => ({ ...old, data: { k: "v" } }),
    options,
  );
  assert.equal(result.object.resourceVersion, "3");
});

void describe("a full store", () => {
  void it("refuses creates in etcd's words, takes updates and deletes, and takes creates when there is room again", async () => {
    const stateQuota = { keysMax: 2, bytesMax: 2 ** 20 };
    const { resource } = await newWorld({}, new FakeRandom(7), { stateQuota });
    const maps = resource("configmaps");
    const create = (name: string) => maps.create("default", configMap(name), plainWrite);
    const made = await create("a");
    await create("b");
    await assert.rejects(create("c"), (error: unknown) => {
      assert.ok(error instanceof ApiError);
      const { status } = error;
      assert.equal(status.code, 500);
      assert.equal(status.message, "etcdserver: mvcc: database space exceeded");
      assert.equal(status.reason ?? "", "");
      return true;
    });
    await put(maps, "default/a", () => ({ ...made.object, data: { k: "v" } }));
    await maps.delete("default", "b", {}, plainWrite);
    await create("c");
  });
});
