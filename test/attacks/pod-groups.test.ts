/** Groups of pods that are many, endless, broken or hostile hold up nobody else, and cost a bounded time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/gen/types.ts";
import { FakeRandom } from "#platform/testing/random.ts";
import { Cache } from "#scheduler/cache.ts";
import { defaultPlugins } from "#scheduler/default-plugins.ts";
import { Gangs } from "#scheduler/gangs/gangs.ts";
import { placeGang, trialsFor } from "#scheduler/gangs/place-gang.ts";
import { gangPods, inOneTurn, putGroup, serveGroups } from "#scheduler/gangs/testing.ts";
import { Nominations } from "#scheduler/nominations.ts";
import { podInfo } from "#scheduler/pod-info.ts";
import { ScheduleAlgorithm } from "#scheduler/schedule-algorithm.ts";
import { makeNode, makePod, nodesRef, noVolumes, podsRef, startRig } from "#scheduler/testing.ts";

test("10,000 groups that wait for Pods that never come do not hold up one that is whole", async () => {
  const rig = await startRig((api) => {
    serveGroups(api);
    for (let i = 0; i < 3; i++) api.put(nodesRef, makeNode(`n${i}`, { cpu: "1" }));
    for (let i = 0; i < 10_000; i++) {
      putGroup(api, `g${i}`, i % 2 === 0 ? 2 : 2 ** 31 - 1);
      for (const pod of gangPods(`g${i}`, 1)) api.put(podsRef, pod);
    }
    putGroup(api, "whole", 3);
    for (const pod of gangPods("whole", 3)) api.put(podsRef, pod);
  });
  await rig.clock.advance(1_000);
  assert.equal(rig.scheduler.metrics().bound, 3);
  assert.equal(rig.scheduler.metrics().decisions, 3, "nothing was tried of the others");
  await rig.end();
});

test("a topology key of 10,000 values: a bounded number is tried, and the next try goes on", () => {
  const namespaces = () => undefined;
  const cache = new Cache({ namespaces });
  const nominations = new Nominations();
  const more = { namespaces, volumes: noVolumes, nominations, plugins: defaultPlugins };
  const decider = new ScheduleAlgorithm({ cache, random: new FakeRandom(1), ...more });
  const taints = [{ key: "t", effect: "NoSchedule" }];
  // One host in a thousand of them takes the group, which only the filters see.
  for (let i = 0; i < 10_000; i++) {
    const labels = { host: `h${i}` };
    cache.setNode(makeNode(`n${i}`, { cpu: "4", labels, ...(i === 9_999 ? {} : { taints }) }));
  }
  let decisions = 0;
  const original = decider.decide.bind(decider);
  decider.decide = (...args) => {
    decisions++;
    return original(...args);
  };
  const members = [0, 1].map((i) => {
    const pod = makePod(`p${i}`, { cpu: "1" });
    return podInfo({ ...pod, metadata: { ...pod.metadata, uid: `u${i}` } });
  });
  const trialsMax = trialsFor(members.length);
  const question = { members, needed: 2, topologyKey: "host", placedOn: [] };
  let tries = 0;
  for (; tries < 50; tries++) {
    decisions = 0;
    const deps = { cache, decider, nominations };
    const { kind } = inOneTurn(placeGang(deps, { ...question, skip: tries * trialsMax }));
    assert.ok(decisions <= 2 * trialsMax + 2, `${decisions} decisions`);
    if (kind === "placed") break;
  }
  assert.ok(tries < 50, "it was found");
});

test("a group of 2,000 of which no domain takes one: Pods times domains are bounded", () => {
  assert.equal(trialsFor(2), 256);
  for (const members of [100, 1_000, 2_000]) assert.ok(trialsFor(members) * members <= 8_000);
  assert.equal(trialsFor(20_000), 1);
});

test("a group of more Pods than one turn of the loop carries is refused, and says so", async () => {
  const rig = await startRig((api) => {
    serveGroups(api);
    api.put(nodesRef, makeNode("n0", { cpu: "1" }));
    putGroup(api, "huge", 1);
    for (const pod of gangPods("huge", 2_001)) api.put(podsRef, pod);
    putGroup(api, "small", 1);
    for (const pod of gangPods("small", 1)) api.put(podsRef, pod);
  });
  await rig.clock.advance(2_000);
  assert.equal(rig.scheduler.metrics().bound, 1, "the small group");
  const { status } = rig.api.peek<Pod>(podsRef, "a", "huge-0") ?? {};
  assert.match(status?.conditions?.[0]?.message ?? "", /at most 2000 pods, and has 2001/);
  await rig.end();
});

test("names of groups are data: two forms, two namespaces and odd letters are kept apart", () => {
  const gangs = new Gangs({ specOf: () => undefined, isServed: () => true });
  const odd = (name: string, namespace: string): Pod => {
    const [pod] = gangPods(name, 1);
    const uid = `${namespace}/${name}`;
    return { ...pod, metadata: { ...pod?.metadata, namespace, uid } } as Pod;
  };
  const names = ["__proto__", "constructor", "g", "g/h", "G"];
  for (const name of names) for (const space of ["a", "b"]) gangs.wait(podInfo(odd(name, space)));
  assert.equal(gangs.size, names.length * 2);
  for (const name of names) for (const space of ["a", "b"]) gangs.leave(`${space}/${name}`);
  assert.equal(gangs.size, 0);
});
