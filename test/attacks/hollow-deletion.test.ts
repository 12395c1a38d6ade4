/**
 * Pods of hollow nodes in a whole plane, asked for as kubectl asks: deletion with and without grace, deadlines,
 * pods that are bound by name and do not fit, and 500 updates in a row.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { given } from "#base/given.ts";
import type { Pod, PodSpec } from "#api/gen/types.ts";
import type { WatchedEvent } from "#client/client.ts";
import { type PromisedPlane, startPromised } from "./promised-plane.ts";

const podsRef = { group: "", version: "v1", resource: "pods" } as const;
const pods = "/api/v1/namespaces/default/pods";
const node = "hollow-0";

let promised: PromisedPlane;
before(async () => {
  promised = await startPromised({ withLoops: true, nodes: 1 });
  await promised.plane.registered;
});
after(() => promised.stop());

async function create(name: string, spec: Partial<PodSpec> = {}): Promise<void> {
  const containers = [{ name: "c", image: "nginx:1" }];
  const body = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { nodeName: node, containers, ...spec },
  };
  const { status, text } = await promised.ask("POST", pods, { body });
  assert.equal(status, 201, text);
}

async function remove(name: string, gracePeriodSeconds?: number): Promise<Pod> {
  const grace = given({ gracePeriodSeconds });
  const options = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" };
  const body = { ...options, ...grace };
  const { status, text } = await promised.ask("DELETE", `${pods}/${name}`, { body });
  assert.equal(status, 200, text);
  return JSON.parse(text) as Pod;
}

async function get(name: string): Promise<Pod | undefined> {
  const { status, text } = await promised.ask("GET", `${pods}/${name}`);
  return status === 404 ? undefined : (JSON.parse(text) as Pod);
}

/** Resolves with the first event of the pod that is as wished: a watch, not a poll. */
async function becomes(
  name: string,
  wished: (event: WatchedEvent<Pod>) => boolean,
): Promise<WatchedEvent<Pod>> {
  const done = new AbortController();
  const found = Promise.withResolvers<WatchedEvent<Pod>>();
  const call = {
    namespace: "default",
    fieldSelector: `metadata.name=${name}`,
    resourceVersion: "0",
    signal: done.signal,
  };
  const watching = promised.plane.client.watch<Pod>(podsRef, call, (events) => {
    const event = events.find(wished);
    if (event !== undefined) found.resolve(event);
  });
  watching.catch((error: unknown) => found.reject(error as Error));
  const event = await found.promise;
  done.abort();
  return event;
}

const isReady = ({ object }: WatchedEvent<Pod>): boolean =>
  object.status?.conditions?.some((c) => c.type === "Ready" && c.status === "True") === true;
const isGone = ({ type }: WatchedEvent<Pod>): boolean => type === "DELETED";

async function running(name: string, spec: Partial<PodSpec> = {}): Promise<void> {
  await create(name, spec);
  await becomes(name, isReady);
}

test("a deleted pod stays visible, ready and counted for its grace period", async () => {
  await running("graceful");
  const gone = becomes("graceful", isGone);
  const startedMs = performance.now();
  const answer = await remove("graceful", 2);
  assert.equal(answer.metadata?.deletionGracePeriodSeconds, 2);
  assert.equal(answer.metadata?.generation, 2);
  const observed = await becomes(
    "graceful",
    ({ object }) => object.status?.observedGeneration === 2,
  );
  assert.ok(observed.object.metadata?.deletionTimestamp);
  assert.ok(isReady(observed));
  await gone;
  assert.ok(performance.now() - startedMs >= 1_900, "gone before its grace period was over");
  assert.equal(await get("graceful"), undefined);
});

test("a shortened grace period ends the pod sooner, force ends it at once", async () => {
  await running("shortened");
  await running("forced");
  await remove("shortened", 3_600);
  await remove("forced", 3_600);
  const later = await get("shortened");
  assert.ok(later?.metadata?.deletionTimestamp);
  const gone = becomes("shortened", isGone);
  const answer = await remove("shortened", 1);
  assert.equal(answer.metadata?.deletionGracePeriodSeconds, 1);
  await gone;
  await remove("forced", 0);
  assert.equal(await get("forced"), undefined);
});

test("grace periods beyond any clock are taken, and shortened again", async () => {
  await running("huge");
  for (const grace of ["9007199254740993", "9223372036854775807"]) {
    const body = `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":${grace}}`;
    const { status } = await promised.ask("DELETE", `${pods}/huge`, { body });
    assert.ok(status === 200 || status === 400, `${grace}: ${status}`);
  }
  const gone = becomes("huge", isGone);
  await remove("huge", 1);
  await gone;
});

test("should allow activeDeadlineSeconds to be updated", async () => {
  await running("deadline");
  const body = { spec: { activeDeadlineSeconds: 1 } };
  const type = "application/strategic-merge-patch+json";
  assert.equal((await promised.ask("PATCH", `${pods}/deadline`, { body, type })).status, 200);
  const { object } = await becomes("deadline", (event) => event.object.status?.phase === "Failed");
  assert.equal(object.status?.reason, "DeadlineExceeded");
  await remove("deadline", 0);
});

test("a pod bound by name that does not fit is Failed, and its room stays free", async () => {
  const sized = (cpu: string): Partial<PodSpec> => ({
    containers: [{ name: "c", image: "nginx:1", resources: { requests: { cpu } } }],
  });
  await create("big", sized("9"));
  const { object } = await becomes("big", (event) => event.object.status?.phase === "Failed");
  assert.equal(object.status?.reason, "OutOfcpu");
  assert.match(object.status?.message ?? "", /^Pod was rejected: Node didn't have enough resource/);
  await running("fits", sized("8"));
  for (const name of ["big", "fits"]) await remove(name, 0);
});

test("500 updates in a row: generation and observedGeneration converge", async () => {
  await running("updated", { activeDeadlineSeconds: 5_000 });
  const type = "application/merge-patch+json";
  for (let i = 1; i < 500; i++) {
    const body = { spec: { activeDeadlineSeconds: 5_000 - i } };
    assert.equal((await promised.ask("PATCH", `${pods}/updated`, { body, type })).status, 200);
  }
  const { object } = await becomes(
    "updated",
    (event) => event.object.status?.observedGeneration === 500,
  );
  const observed = object.status?.conditions?.map((c) => [c.type, c.observedGeneration]);
  assert.equal(observed?.length, 5);
  for (const [type_, generation] of observed ?? []) assert.equal(generation, 500, String(type_));
  await remove("updated", 0);
});
