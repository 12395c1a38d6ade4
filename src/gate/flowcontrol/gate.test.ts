/** The gate with the bootstrap configuration: classes, waiting, refusals, borrowing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, settle } from "#platform/testing/clock.ts";
import type { FlowSchema } from "#api/gen/types.ts";
import type { AnyObject } from "#api/object.ts";
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from "./bootstrap.ts";
import { shareSeats } from "./borrowing.ts";
import { Classifier, distinguisherOf, orderSchemas } from "./classify.ts";
import type { FlowFacts } from "./classify.ts";
import { createGate, gateDefaults } from "./gate.ts";
import type { FlowRequest, GateAnswer, GateConfig } from "./gate.ts";
import { RetryAfter } from "./retry-after.ts";
import { estimateWork, seatsMaxOf } from "./work.ts";

const resource: FlowFacts = {
  verb: "get",
  path: "/api/v1/namespaces/ns/pods/p",
  isResourceRequest: true,
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "ns",
  name: "p",
};
const user = (name: string, ...groups: string[]) => ({
  name,
  groups: [...groups, "system:authenticated"],
});

function request(over: Partial<FlowRequest> = {}): FlowRequest {
  return {
    info: resource,
    user: user("jane"),
    query: new URLSearchParams(),
    signal: new AbortController().signal,
    ...over,
  };
}

function setup(config: Partial<GateConfig> = {}, ...objects: AnyObject[]) {
  const clock = new FakeClock();
  const stored = [...objects];
  const lookup = {
    get: () => undefined,
    list: ({ resource: kind }: { resource: string }) =>
      stored.filter((o) => `${(o.kind ?? "").toLowerCase()}s` === kind),
  };
  let version = 0;
  const events: string[] = [];
  const gate = createGate(
    {
      clock,
      lookup,
      configVersion: () => version,
      observer: {
        seated: (level, schema, waitMs) => events.push(`seated ${level} ${schema} ${waitMs}`),
        rejected: (level, schema, reason) => events.push(`rejected ${level} ${schema} ${reason}`),
        finished: () => {},
        queued: () => {},
        unqueued: () => {},
      },
    },
    { ...gateDefaults, ...config },
  );
  const store = (...next: AnyObject[]): void => {
    stored.splice(0, stored.length, ...next);
    version += 1;
  };
  const level = (name: string) => gate.levels().find((entry) => entry.name === name);
  return { clock, gate, events, level, store };
}

function release(answer: GateAnswer): void {
  assert.equal(answer.kind, "seated");
  if (answer.kind === "seated") answer.release();
}

test("nominal seats follow the shares", () => {
  const { gate } = setup();
  const nominal = gate.levels().map((entry) => [entry.name, entry.nominalSeats]);
  assert.deepEqual(Object.fromEntries(nominal), {
    exempt: 0,
    system: 74,
    "node-high": 98,
    "leader-election": 25,
    "workload-high": 98,
    "workload-low": 245,
    "global-default": 49,
    "catch-all": 13,
  });
});

test("every kind of caller falls into its class", () => {
  const names = new Set(bootstrapPriorityLevels().map((level) => level.metadata?.name ?? ""));
  const ordered = orderSchemas(bootstrapFlowSchemas(), names);
  const classOf = (who: ReturnType<typeof user>, over: Partial<FlowFacts> = {}) =>
    new Classifier(ordered).classify({ ...resource, ...over }, who)?.metadata?.name;
  const kubelet = user("system:node:n1", "system:nodes");
  const lease = { group: "coordination.k8s.io", resource: "leases", verb: "update" };
  assert.equal(classOf(user("root", "system:masters")), "exempt");
  assert.equal(classOf(user("x"), { isResourceRequest: false, path: "/readyz/ping" }), "probes");
  assert.equal(
    classOf(user("x"), { isResourceRequest: false, path: "/metrics" }),
    "global-default",
  );
  assert.equal(classOf(user("system:kube-scheduler"), lease), "system-leader-election");
  assert.equal(classOf(user("system:kube-scheduler")), "kube-scheduler");
  assert.equal(classOf(kubelet, lease), "system-node-high");
  assert.equal(
    classOf(kubelet, { resource: "nodes", subresource: "status", namespace: "" }),
    "system-node-high",
  );
  assert.equal(classOf(kubelet), "system-nodes");
  const account = (ns: string) => user(`system:serviceaccount:${ns}:a`, "system:serviceaccounts");
  assert.equal(classOf(account("kube-system")), "kube-system-service-accounts");
  assert.equal(classOf(account("kube-system2")), "service-accounts");
  assert.equal(classOf(user("jane")), "global-default");
  assert.equal(classOf({ name: "nobody", groups: [] }), undefined);
});

test("flows are told apart as the schema says", () => {
  const byName = (name: string) =>
    bootstrapFlowSchemas().find((schema) => schema.metadata?.name === name) as FlowSchema;
  assert.equal(distinguisherOf(byName("global-default"), resource, user("jane")), "jane");
  assert.equal(distinguisherOf(byName("kube-scheduler"), resource, user("s")), "ns");
  assert.equal(distinguisherOf(byName("exempt"), resource, user("s")), "");
});

test("who finds a seat passes at once, with the class in the headers", async () => {
  const { gate, level, store } = setup();
  const withUid = (object: AnyObject) => ({
    ...object,
    metadata: { ...object.metadata, uid: `uid-${object.metadata?.name}` },
  });
  store(...bootstrapFlowSchemas().map(withUid), ...bootstrapPriorityLevels().map(withUid));
  const answer = await gate.enter(request());
  assert.deepEqual(answer.headers, {
    "x-kubernetes-pf-flowschema-uid": "uid-global-default",
    "x-kubernetes-pf-prioritylevel-uid": "uid-global-default",
  });
  assert.equal(level("global-default")?.seatsInUse, 1);
  release(answer);
  assert.equal(level("global-default")?.seatsInUse, 0);
});

test("who waits gets the next seat, or is turned away when the time is up", async () => {
  // Borrowing is put off: it would find the late one a seat.
  const { gate, clock, events, level } = setup({ seats: 60, borrowMs: 1e9 });
  const seats = level("global-default")?.currentSeats ?? 0;
  const first = await Promise.all(Array.from({ length: seats }, () => gate.enter(request())));
  const second = gate.enter(request());
  const third = gate.enter(request());
  clock.tick(1000);
  assert.equal(level("global-default")?.requestsWaiting, 2);
  release(first[0] as GateAnswer);
  release(await second);
  release(await third);
  assert.deepEqual(events.slice(seats), [
    "seated global-default global-default 1000",
    "seated global-default global-default 1000",
  ]);
  await gate.enter(request());
  const late = gate.enter(request());
  clock.tick(15_000);
  const refused = await late;
  assert.deepEqual(refused.explain(), {
    level: "global-default",
    schema: "global-default",
    flow: "jane",
    seats: 1,
    finalSeats: 0,
    queuedMs: 15_000,
  });
  assert.partialDeepStrictEqual(refused, {
    kind: "rejected",
    headers: {
      "x-kubernetes-pf-flowschema-uid": "",
      "x-kubernetes-pf-prioritylevel-uid": "",
    },
    retryAfterSeconds: 1,
    reason: "time-out",
  });
});

test("a client that goes away gives up its place", async () => {
  const { gate, level } = setup({ seats: 60 });
  const seats = level("global-default")?.currentSeats ?? 0;
  for (let i = 0; i < seats; i++) await gate.enter(request());
  const gone = new AbortController();
  const answer = gate.enter(request({ signal: gone.signal }));
  gone.abort();
  const result = await answer;
  assert.equal(result.kind === "rejected" && result.reason, "cancelled");
  assert.equal(level("global-default")?.requestsWaiting, 0);
});

test("the catch-all class refuses what does not fit, exempt never does", async () => {
  const { gate, level } = setup({ seats: 60 });
  const nobody = request({ user: { name: "nobody", groups: [] } });
  for (let i = 0; i < (level("catch-all")?.currentSeats ?? 0); i++) {
    assert.equal((await gate.enter(nobody)).kind, "seated");
  }
  const refused = await gate.enter(nobody);
  assert.equal(refused.kind === "rejected" && refused.reason, "concurrency-limit");
  for (let i = 0; i < 100; i++) {
    const answer = await gate.enter(request({ user: user("root", "system:masters") }));
    assert.equal(answer.kind, "seated");
  }
});

test("long-running requests other than watches do not pass the gate", async () => {
  const { gate, level } = setup();
  await gate.enter(request({ info: { ...resource, subresource: "log" } }));
  assert.equal(level("global-default")?.seatsInUse, 0);
  release(await gate.enter(request({ info: { ...resource, verb: "watch" } })));
});

test("idle levels lend, and get their seats back when they want them", async () => {
  const { gate, clock, level } = setup();
  const open: GateAnswer[] = [];
  const before = level("global-default")?.currentSeats;
  const pending: Promise<unknown>[] = [];
  for (let i = 0; i < 300; i++) {
    pending.push(gate.enter(request({ user: user(`u${i}`) })).then((answer) => open.push(answer)));
  }
  await settle();
  assert.equal(open.length, before);
  clock.tick(10_000);
  await settle();
  assert.ok((level("global-default")?.currentSeats ?? 0) > 200, "it borrowed");
  assert.ok((level("workload-low")?.currentSeats ?? 0) < 100, "it lent");
  assert.ok((level("leader-election")?.currentSeats ?? 0) >= 25, "it lends nothing");
  const total = gate.levels().reduce((sum, entry) => sum + entry.currentSeats, 0);
  assert.ok(Math.abs(total - 602) <= 8, `${total} seats in all`);
  for (const answer of open) release(answer);
  await Promise.all(pending);
});

test("a changed configuration is seen by the next request; mandatory levels are always there", async () => {
  const { gate, level, store } = setup();
  const only = {
    ...bootstrapPriorityLevels().find((object) => object.metadata?.name === "global-default"),
    metadata: { name: "mine" },
  } as AnyObject;
  store(only);
  await gate.enter(request());
  assert.deepEqual(
    gate.levels().map((entry) => entry.name),
    ["exempt", "catch-all", "mine"],
  );
  assert.equal(level("catch-all")?.seatsInUse, 1);
  assert.equal(level("mine")?.nominalSeats, 480);
});

test("a schema without its level is left out", () => {
  const schema = bootstrapFlowSchemas()[0] as FlowSchema;
  assert.deepEqual(orderSchemas([schema], new Set()), []);
});

test("seats are shared by one fraction within everybody's bounds", () => {
  const level = (nominal: number, min: number, max: number, wanted: number) => ({
    nominal,
    min,
    max,
    highWatermark: wanted,
    smoothed: wanted,
  });
  assert.deepEqual(shareSeats([level(50, 50, 150, 200), level(50, 10, 150, 0)], 100), [90, 10]);
  assert.deepEqual(shareSeats([level(50, 10, 60, 200), level(50, 10, 150, 0)], 100), [60, 40]);
  assert.deepEqual(shareSeats([level(50, 10, 150, 50), level(50, 10, 150, 50)], 100), [50, 50]);
  assert.deepEqual(shareSeats([level(50, 10, 150, 50), level(50, 10, 150, 50)], 60), [30, 30]);
  assert.deepEqual(shareSeats([level(50, 10, 150, 50), level(50, 20, 150, 50)], 10), [10, 20]);
});

test("large lists and writes with many watchers take more seats", () => {
  const load = {
    objects: (_group: string, kind: string) => (kind === "pods" ? 10_000 : 10),
    bytesPerObject: () => 2_500,
    watchers: () => 450,
  };
  const work = (over: Partial<FlowFacts>, query = "", seatsMax = 100) =>
    estimateWork({ ...resource, name: "", ...over }, new URLSearchParams(query), load, seatsMax);
  const one = { seats: 1, finalSeats: 0, extraMs: 0, isSmall: true };
  const large = { ...one, isSmall: false };
  assert.deepEqual(work({ verb: "list" }), { ...large, seats: 10 });
  assert.deepEqual(work({ verb: "list" }, "limit=100"), { ...large, seats: 3 });
  assert.deepEqual(work({ verb: "list" }, "", 4), { ...large, seats: 4 });
  assert.deepEqual(work({ verb: "list", name: "p" }), one);
  assert.deepEqual(work({ verb: "list", resource: "nodes" }), one);
  assert.deepEqual(work({ verb: "watch" }, "resourceVersion=7"), one);
  for (const query of ["", "resourceVersion=0"])
    assert.deepEqual(
      work({ verb: "watch" }, query),
      { ...large, seats: 10 },
      "it begins with the state",
    );
  assert.deepEqual(work({ verb: "watch" }, "sendInitialEvents=false"), one);
  assert.deepEqual(work({ verb: "watch" }, "sendInitialEvents=true"), { ...large, seats: 10 });
  assert.deepEqual(work({ verb: "update" }), { ...large, finalSeats: 5, extraMs: 5 });
  assert.deepEqual(work({ verb: "update" }, "", 1), { ...large, finalSeats: 1, extraMs: 25 });
  assert.deepEqual(work({ verb: "create", subresource: "token" }), one);
  assert.equal(seatsMaxOf(49, 6), 8);
  assert.equal(seatsMaxOf(1, 6), 1);
});

test("clients are told to stay away longer while refusals last", () => {
  const retry = new RetryAfter();
  const seconds: number[] = [];
  for (let second = 1; second <= 12; second++) {
    for (let i = 0; i < 20; i++) retry.note(second * 1000);
    seconds.push(retry.seconds);
  }
  assert.deepEqual(seconds.slice(0, 4), [1, 2, 2, 4]);
  assert.ok(retry.seconds <= 32);
  for (let second = 100; second < 140; second += 40) retry.note(second * 1000);
  assert.ok(retry.seconds < 8);
});

/** Answers of one account of workload-low, made and on their way, until one would have to wait. */
async function lingering(
  { gate, level }: ReturnType<typeof setup>,
  name: string,
): Promise<{ kept: GateAnswer[]; let: number }> {
  const kept: GateAnswer[] = [];
  let released = 0;
  const caller = user(`system:serviceaccount:green:${name}`, "system:serviceaccounts");
  const { currentSeats = 0 } = level("workload-low") ?? {};
  for (let at = 0; at < currentSeats; at++) {
    if (level("workload-low")?.seatsInUse === currentSeats) break;
    const answer = await gate.enter(request({ user: caller }));
    if (answer.kind === "seated" && answer.linger()) kept.push(answer);
    else {
      release(answer);
      released++;
    }
  }
  return { kept, let: released };
}

test("answers of a flow on their way keep half of a level while their readers take them", async () => {
  const rig = setup();
  const { currentSeats: all = 0 } = rig.level("workload-low") ?? {};
  const ann = await lingering(rig, "ann");
  assert.deepEqual([ann.kept.length, ann.let], [all >> 1, all - (all >> 1)], "half of the level");
  for (const one of ann.kept) release(one);
  assert.equal(rig.level("workload-low")?.seatsInUse, 0);
});

test("a flow whose readers stand still keeps only as many seats as it leaves free", async () => {
  const rig = setup();
  const { currentSeats: all = 0 } = rig.level("workload-low") ?? {};
  const first = await lingering(rig, "ann");
  for (const one of first.kept) if (one.kind === "seated") one.stall();
  assert.equal(rig.level("workload-low")?.seatsInUse, 0, "who stands still keeps no seat");
  const second = await lingering(rig, "ann");
  assert.deepEqual([second.kept.length, second.let], [0, all], "nor does the next answer of it");
  const bob = await lingering(rig, "bob");
  assert.equal(bob.kept.length, all >> 1, "another flow may");
  for (const one of [...first.kept, ...bob.kept]) release(one);
  assert.equal(rig.level("workload-low")?.seatsInUse, 0);
  assert.equal(
    (await lingering(rig, "ann")).kept.length,
    all >> 1,
    "and it again when they are gone",
  );
});

test("a level that runs one work at a time sends one answer at a time", async () => {
  const { gate } = setup({ seats: 1 });
  const caller = user("system:serviceaccount:green:ann", "system:serviceaccounts");
  const first = await gate.enter(request({ user: caller }));
  assert.ok(first.kind === "seated" && first.linger());
  let isSeated = false;
  const second = gate.enter(request({ user: caller })).then((answer) => {
    isSeated = true;
    return answer;
  });
  await settle();
  assert.equal(isSeated, false);
  release(first);
  release(await second);
});

const watchOf = (name: string, over: Partial<FlowFacts> = {}): FlowRequest =>
  request({ user: user(name), info: { ...resource, verb: "watch", name: "", ...over } });

function forget(answer: GateAnswer): void {
  if (answer.kind === "seated") answer.forget();
}

test("a level has so many watches open; another level has its own", async () => {
  const { gate, level } = setup({ levelWatchesMax: 2 });
  const open = [await gate.enter(watchOf("eve")), await gate.enter(watchOf("eve"))];
  for (const one of open) release(one);
  const refused = await gate.enter(watchOf("eve"));
  assert.equal(refused.kind === "rejected" && refused.reason, "watch-limit");
  assert.equal(
    refused.kind === "rejected" && refused.message,
    "Too many watches are open at this priority level, please try again later.\n",
  );
  release(await gate.enter(request({ user: user("eve") })));
  const account = user("system:serviceaccount:green:a", "system:serviceaccounts");
  assert.equal((await gate.enter({ ...watchOf(""), user: account })).kind, "seated");
  const root = user("root", "system:masters");
  for (let at = 0; at < 5; at++)
    assert.equal((await gate.enter({ ...watchOf(""), user: root })).kind, "seated", "exempt");
  forget(open[0] as GateAnswer);
  forget(open[0] as GateAnswer);
  assert.equal(level("global-default")?.openWatches, 1);
  const next = await gate.enter(watchOf("eve"));
  assert.equal(next.kind, "seated");
  assert.equal((await gate.enter(watchOf("joe"))).kind, "rejected");
});

test("a user has so many watches open, whatever their level; others have theirs", async () => {
  const { gate, level } = setup({ userWatchesMax: 1 });
  const open = await gate.enter(watchOf("eve"));
  const refused = await gate.enter(watchOf("eve"));
  assert.equal(
    refused.kind === "rejected" && refused.message,
    "Too many watches of this user are open, please try again later.\n",
  );
  assert.equal((await gate.enter(watchOf("joe"))).kind, "seated");
  const root = user("root", "system:masters");
  for (let at = 0; at < 3; at++)
    assert.equal((await gate.enter({ ...watchOf(""), user: root })).kind, "seated", "exempt");
  forget(open);
  forget(open);
  assert.equal((await gate.enter(watchOf("eve"))).kind, "seated");
  assert.equal(level("global-default")?.openWatches, 2);
});

test("a watch that is refused a seat, or gives up waiting, is not open", async () => {
  const { gate, level } = setup({ seats: 1, levelWatchesMax: 9 });
  await gate.enter(request());
  const gone = new AbortController();
  const late = gate.enter({ ...watchOf("jane"), signal: gone.signal });
  assert.equal(level("global-default")?.openWatches, 1);
  gone.abort();
  assert.equal((await late).kind, "rejected");
  assert.equal(level("global-default")?.openWatches, 0);
});

test("a priority level says itself how many watches it has", async () => {
  const { gate, level, store } = setup();
  const own = bootstrapPriorityLevels().find((one) => one.metadata?.name === "global-default");
  const annotated = (text: string): AnyObject => ({
    ...own,
    metadata: { ...own?.metadata, annotations: { "flowcontrol.pilothouse.dev/watches-max": text } },
  });
  const schemas = bootstrapFlowSchemas();
  store(annotated("1"), ...schemas);
  release(await gate.enter(watchOf("jane")));
  assert.equal((await gate.enter(watchOf("jane"))).kind, "rejected");
  for (const text of ["-1", "many", "1e3", ""]) {
    store(annotated(text), ...schemas);
    release(await gate.enter(request()));
    assert.equal(level("global-default")?.watchesMax, Number.POSITIVE_INFINITY, text);
  }
});

test("a write holds seats for those who watch it, and for nobody else", async () => {
  const clock = new FakeClock();
  const load = { objects: () => 1, bytesPerObject: () => 1 };
  const gate = createGate({ clock, load }, gateDefaults);
  const maps = { resource: "configmaps" };
  const open: GateAnswer[] = [];
  const watch = async (count: number, over: Partial<FlowFacts>, query = ""): Promise<void> => {
    for (let at = 0; at < count; at++) {
      const asked = watchOf("jane", { ...maps, ...over });
      const answer = await gate.enter({ ...asked, query: new URLSearchParams(query) });
      release(answer);
      open.push(answer);
    }
  };
  await watch(120, { namespace: "" });
  await watch(100, {});
  await watch(300, { namespace: "elsewhere" });
  await watch(90, { name: "one" });
  await watch(500, { resource: "pods", namespace: "" }, "fieldSelector=spec.nodeName%3Dn1");
  const finalSeats = async (over: Partial<FlowFacts>): Promise<number> => {
    const info = { ...resource, verb: "update", ...over };
    const answer = await gate.enter(request({ info }));
    release(answer);
    await clock.advance(1_000);
    return answer.explain().finalSeats;
  };
  assert.equal(await finalSeats({ ...maps, name: "one" }), 4);
  assert.equal(await finalSeats({ ...maps, name: "two" }), 3);
  assert.equal(await finalSeats({ ...maps, verb: "create", name: "", namespace: "third" }), 2);
  assert.equal(await finalSeats({ name: "web" }), 0, "an index finds the watches of a node");
  for (const one of open) forget(one);
  assert.equal(await finalSeats({ ...maps, name: "one" }), 0);
  gate.close();
});

test("a small request has a seat of requests that wait for a turn of the loop, a large one has not", async () => {
  const objects = (_group: string, kind: string): number => (kind === "pods" ? 10_000 : 1);
  const load = { objects, bytesPerObject: () => 2_500, watchers: () => 0 };
  const gate = createGate({ clock: new FakeClock(), load }, { ...gateDefaults, seats: 58 });
  const ask = (name: string, kind: string) => {
    const caller = user(`system:serviceaccount:green:${name}`, "system:serviceaccounts");
    const info = { ...resource, name: "", verb: "list", resource: kind };
    let answer: GateAnswer | undefined;
    const asked = gate.enter(request({ user: caller, info })).then((made) => (answer = made));
    return { asked, answer: () => answer };
  };
  const lists = Array.from({ length: 60 }, () => ask("greedy", "pods"));
  await settle();
  const level = () => gate.levels().find(({ name }) => name === "workload-low") ?? assert.fail();
  for (let left = level().currentSeats - level().seatsInUse; left > 0; left--)
    ask("other", "nodes");
  await settle();
  const small = ask("quiet", "nodes");
  const large = ask("other", "pods");
  await settle();
  const seated = lists.map((list) => list.answer()).filter((one) => one?.kind === "seated");
  assert.ok(seated.length > 0 && seated.length < 60);
  assert.equal(small.answer(), undefined, "no seat is free");
  for (const one of seated) if (one?.kind === "seated") one.rest("turn");
  await settle();
  assert.equal(small.answer()?.kind, "seated");
  assert.equal(large.answer(), undefined);
});
