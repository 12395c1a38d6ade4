/** Extenders: what they are sent, what their answers do, and that lies and failures end one try, not the scheduler. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/gen/types.ts";
import { Extender, type ExtenderPost, type ExtenderSpec } from "./extender.ts";
import { defaultProfile } from "./profile.ts";
import { makeNode, makePod, nodesRef, podsRef, startRig } from "./testing.ts";

const spec: ExtenderSpec = {
  urlPrefix: "http://extender",
  filterVerb: undefined,
  prioritizeVerb: undefined,
  preemptVerb: undefined,
  bindVerb: undefined,
  weight: 1,
  isNodeCacheCapable: true,
  managedResources: [],
  isIgnorable: false,
};

type Answers = Readonly<Record<string, (body: Readonly<Record<string, unknown>>) => unknown>>;

function extender(changed: Partial<ExtenderSpec>, answers: Answers) {
  const asked: [verb: string, body: Readonly<Record<string, unknown>>][] = [];
  const post: ExtenderPost = (verb, body) => {
    const sent = JSON.parse(JSON.stringify(body)) as Readonly<Record<string, unknown>>;
    asked.push([verb, sent]);
    return new Promise((resolve) => resolve(answers[verb]?.(sent)));
  };
  return { made: new Extender({ ...spec, ...changed }, post), asked };
}

const nodes =
  (...names: readonly string[]) =>
  (api: Parameters<Parameters<typeof startRig>[0]>[0]): void => {
    for (const name of names) api.put(nodesRef, makeNode(name));
    api.put(podsRef, makePod("p", { cpu: "1" }));
  };
const profiles = [defaultProfile];

test("a filter takes nodes away; what is left is scored", async () => {
  const { made, asked } = extender(
    { filterVerb: "filter" },
    { filter: () => ({ NodeNames: ["b"], FailedNodes: { a: "no", c: "no" } }) },
  );
  const rig = await startRig(nodes("a", "b", "c"), profiles, [made]);
  assert.equal(rig.nodeOf("p"), "b");
  const [[verb, body] = ["", {}]] = asked;
  assert.equal(verb, "filter");
  assert.deepEqual([body["Nodes"], body["NodeNames"]], [null, ["a", "b", "c"]]);
  assert.equal((body["Pod"] as Pod).metadata?.name, "p");
  await rig.end();
});

test("one without a cache of nodes is sent nodes, and names fields as it likes", async () => {
  const { made } = extender(
    { filterVerb: "filter", isNodeCacheCapable: false },
    {
      filter(body) {
        const { items } = body["Nodes"] as { readonly items: readonly unknown[] };
        return { nodes: { items: items.slice(1) }, failedNodes: {} };
      },
    },
  );
  const rig = await startRig(nodes("a", "b"), profiles, [made]);
  assert.equal(rig.nodeOf("p"), "b");
  await rig.end();
});

test("when it takes all nodes the Pod is told why, and any event wakes it", async () => {
  let text = "license used up";
  const { made } = extender(
    { filterVerb: "filter" },
    {
      filter: ({ NodeNames: names }) =>
        text === "" ? { NodeNames: names } : { NodeNames: [], FailedNodes: { a: text, b: text } },
    },
  );
  const rig = await startRig(nodes("a", "b"), profiles, [made]);
  assert.match(rig.verdictOn("p"), /^0\/2 nodes are available: 2 license used up\. preemption: /);
  text = "";
  rig.api.put(podsRef, makePod("other", { nodeName: "a" }));
  await rig.clock.advance(20_000);
  assert.notEqual(rig.nodeOf("p"), "");
  await rig.end();
});

test("priorities add to the scores by weight, ten times", async () => {
  const { made } = extender(
    { prioritizeVerb: "prioritize", weight: 50 },
    {
      prioritize: () => [
        { Host: "a", Score: 0 },
        { host: "small", score: 10 },
      ],
    },
  );
  const rig = await startRig(
    (api) => {
      nodes("a")(api);
      api.put(nodesRef, makeNode("small", { cpu: "1", memory: "1Gi" }));
    },
    profiles,
    [made],
  );
  assert.equal(rig.nodeOf("p"), "small");
  await rig.end();
});

test("a failing prioritize is passed over; a failing filter fails the try, unless it may be ignored", async () => {
  const fail = (): never => {
    throw new Error("boom");
  };
  const prioritizer = extender({ prioritizeVerb: "p" }, { p: fail }).made;
  const ignorable = extender({ filterVerb: "f", isIgnorable: true }, { f: fail }).made;
  const placed = await startRig(nodes("a", "b"), profiles, [prioritizer, ignorable]);
  assert.notEqual(placed.nodeOf("p"), "");
  await placed.end();
  let isBroken = true;
  const strict = extender(
    { filterVerb: "f" },
    { f: ({ NodeNames: names }) => (isBroken ? fail() : { NodeNames: names }) },
  ).made;
  const rig = await startRig(nodes("a"), profiles, [strict]);
  assert.equal(rig.nodeOf("p"), "");
  assert.deepEqual(rig.events("FailedScheduling"), ["boom"]);
  const { reason } = rig.api.peek<Pod>(podsRef, "a", "p")?.status?.conditions?.[0] ?? {};
  assert.equal(reason, "SchedulerError");
  isBroken = false;
  await rig.clock.advance(2_000);
  assert.equal(rig.nodeOf("p"), "a");
  await rig.end();
});

test("it is asked about Pods with its resources only", async () => {
  const { made, asked } = extender(
    { filterVerb: "f", managedResources: [{ name: "example.com/foo" }] },
    { f: () => ({ NodeNames: [] }) },
  );
  const rig = await startRig(nodes("a"), profiles, [made]);
  assert.equal(rig.nodeOf("p"), "a");
  assert.equal(asked.length, 0);
  await rig.end();
});

test("it binds in our place", async () => {
  const { made, asked } = extender({ bindVerb: "bind" }, { bind: () => ({}) });
  const rig = await startRig(nodes("a"), profiles, [made]);
  const [[verb, body] = ["", {}]] = asked;
  assert.equal(verb, "bind");
  assert.deepEqual([body["PodName"], body["PodNamespace"], body["Node"]], ["p", "a", "a"]);
  assert.equal(rig.nodeOf("p"), "");
  assert.equal(asked.length, 1);
  await rig.end();
});

test("one that says it has bound and has not is found out, and the Pod is tried again", async () => {
  const { made, asked } = extender({ bindVerb: "bind" }, { bind: () => ({}) });
  const rig = await startRig(nodes("a"), profiles, [made]);
  await rig.clock.advance(29_000);
  assert.equal(asked.length, 1);
  await rig.clock.advance(5_000);
  assert.equal(asked.length, 2);
  rig.api.put(podsRef, makePod("p", { cpu: "1", nodeName: "a" }));
  await rig.clock.advance(60_000);
  assert.equal(asked.length, 2);
  assert.equal(rig.scheduler.metrics().pending, 0);
  await rig.end();
});

test("it takes nodes from preemption, and names other victims", async () => {
  const { made, asked } = extender(
    { preemptVerb: "preempt" },
    {
      preempt(body) {
        const victims = body["NodeNameToMetaVictims"] as Readonly<Record<string, unknown>>;
        return { NodeNameToMetaVictims: { b: victims["b"] } };
      },
    },
  );
  const rig = await startRig(
    (api) => {
      for (const name of ["a", "b"]) {
        api.put(nodesRef, makeNode(name, { cpu: "1" }));
        api.put(podsRef, makePod(`low-${name}`, { cpu: "1", nodeName: name }));
      }
      api.put(podsRef, makePod("p", { cpu: "1", priority: 10 }));
    },
    profiles,
    [made],
  );
  assert.deepEqual(
    asked.map(([verb]) => verb),
    ["preempt"],
  );
  rig.api.drop(podsRef, "a", "low-b");
  await rig.clock.advance(2_000);
  assert.equal(rig.nodeOf("p"), "b");
  assert.notEqual(rig.api.peek(podsRef, "a", "low-a"), undefined);
  await rig.end();
});

const lies: Readonly<Record<string, readonly [unknown, RegExp]>> = {
  "a node that was not asked about": [
    { NodeNames: ["a", "ghost"] },
    /extender "http:\/\/extender" claims a filtered node "ghost" which is not found in the input node list/,
  ],
  "a number": [{ NodeNames: 7 }, /did not answer a list of node names/],
  "nodes that are none": [{ NodeNames: [{}] }, /claims a filtered node/],
  "an error of its own": [{ Error: "out of order" }, /^out of order$/],
};
for (const [what, [answer, text]] of Object.entries(lies)) {
  test(`a filter that answers ${what} fails the try and no more`, async () => {
    const { made } = extender({ filterVerb: "f" }, { f: () => answer });
    const rig = await startRig(nodes("a"), profiles, [made]);
    assert.match(rig.events("FailedScheduling")[0] ?? "", text);
    assert.equal(rig.nodeOf("p"), "");
    await rig.end();
  });
}

for (const [what, answer] of Object.entries({
  nothing: undefined,
  null: null,
  "the same node many times": { NodeNames: ["a", "a", "a"] },
  "prototype's names": { NodeNames: ["a"], FailedNodes: { __proto__: "x", constructor: "y" } },
})) {
  test(`a filter that answers ${what} breaks nothing`, async () => {
    const { made } = extender({ filterVerb: "f" }, { f: () => answer });
    const rig = await startRig(nodes("a"), profiles, [made]);
    const isPlaced = typeof answer === "object" && answer !== null;
    assert.equal(rig.nodeOf("p"), isPlaced ? "a" : "");
    await rig.end();
  });
}

for (const [what, victims, text] of [
  ["a Pod that is not there", [{ UID: "ghost" }], /the pod is not found on that node/],
  ["nobody", [], /expected at least one victim pod on node "a"/],
] as const) {
  test(`a preemption of ${what} is refused`, async () => {
    const { made } = extender(
      { preemptVerb: "p" },
      { p: () => ({ NodeNameToMetaVictims: { a: { Pods: victims } } }) },
    );
    const rig = await startRig(
      (api) => {
        api.put(nodesRef, makeNode("a", { cpu: "1" }));
        api.put(podsRef, makePod("low", { cpu: "1", nodeName: "a" }));
        api.put(podsRef, makePod("p", { cpu: "1", priority: 10 }));
      },
      profiles,
      [made],
    );
    assert.match(rig.events("FailedScheduling")[0] ?? "", text);
    assert.notEqual(rig.api.peek(podsRef, "a", "low"), undefined);
    await rig.end();
  });
}

test("a preemption of Pods of no lower priority is refused", async () => {
  const { made } = extender(
    { preemptVerb: "p" },
    {
      p: () => ({ NodeNameToMetaVictims: { a: { Pods: [{ UID: uid }] } } }),
    },
  );
  let uid = "";
  const rig = await startRig(
    (api) => {
      api.put(nodesRef, makeNode("a", { cpu: "2" }));
      api.put(podsRef, makePod("low", { cpu: "1", nodeName: "a" }));
      api.put(podsRef, makePod("high", { cpu: "1", nodeName: "a", priority: 99 }));
      uid = api.peek<Pod>(podsRef, "a", "high")?.metadata?.uid ?? "";
      api.put(podsRef, makePod("p", { cpu: "1", priority: 10 }));
    },
    profiles,
    [made],
  );
  assert.match(rig.events("FailedScheduling")[0] ?? "", /its priority is not lower/);
  await rig.end();
});

test("a Pod that goes, or changes, while an extender thinks is not placed by the old answer", async () => {
  const waiting: (() => void)[] = [];
  const post: ExtenderPost = (_verb, body) =>
    new Promise((resolve) => {
      const { NodeNames } = body as { readonly NodeNames: readonly string[] };
      waiting.push(() => resolve({ NodeNames }));
    });
  const made = new Extender({ ...spec, filterVerb: "f" }, post);
  const rig = await startRig(nodes("a", "b"), profiles, [made]);
  assert.equal(waiting.length, 1);
  await rig.api.delete(podsRef, "a", "p");
  rig.api.put(podsRef, makePod("q", { cpu: "1" }));
  await rig.clock.advance(50);
  waiting.shift()?.();
  await rig.clock.advance(50);
  assert.equal(rig.scheduler.metrics().placedPods, 0);
  assert.equal(waiting.length, 1);
  await rig.api.delete(nodesRef, "", "a");
  await rig.clock.advance(50);
  waiting.shift()?.();
  await rig.clock.advance(5_000);
  while (waiting.length > 0) {
    waiting.shift()?.();
    await rig.clock.advance(5_000);
  }
  assert.equal(rig.nodeOf("q"), "b");
  await rig.end();
});

test("the scheduler stops while an extender hangs", async () => {
  const post: ExtenderPost = (_verb, _body, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("aborted")));
    });
  const rig = await startRig(nodes("a"), profiles, [
    new Extender({ ...spec, filterVerb: "f" }, post),
  ]);
  await rig.end();
  assert.equal(rig.nodeOf("p"), "");
});
