/**
 * Measures the Pods per CPU second of the pure core for Pods in groups; every node is examined for every Pod. Run: node
 * src/loops/scheduler/gangs/gangs.bench.ts [nodes] [pods of a group] [groups]
 */
import { FakeRandom } from "#platform/testing/random.ts";
import { Cache } from "../cache.ts";
import { defaultPlugins } from "../default-plugins.ts";
import { Nominations } from "../nominations.ts";
import { podInfo } from "../pod-info.ts";
import { preemptionLimits } from "../preemption-limits.ts";
import { ScheduleAlgorithm } from "../schedule-algorithm.ts";
import { makeNode, makePod, noVolumes } from "../testing.ts";
import { findGangPreemption } from "./gang-preemption.ts";
import { placeGang } from "./place-gang.ts";
import { inOneTurn } from "./testing.ts";

const nodeCount = Number(process.argv[2] ?? 5_000);
const memberCount = Number(process.argv[3] ?? 100);
const groupCount = Number(process.argv[4] ?? 50);

function makeWorld() {
  const namespaces = () => undefined;
  const cache = new Cache({ namespaces });
  const nominations = new Nominations();
  const random = new FakeRandom(1);
  const more = { namespaces, volumes: noVolumes, nominations, plugins: defaultPlugins };
  const decider = new ScheduleAlgorithm({ cache, random, ...more });
  for (let i = 0; i < nodeCount; i++) {
    const labels = { rack: `r${Math.floor(i / 40)}` };
    cache.setNode(makeNode(`n${i}`, { cpu: "64", memory: "256Gi", labels }));
  }
  return { cache, decider, nominations };
}

let uids = 0;

function members(cpu: string, priority: number) {
  return Array.from({ length: memberCount }, () => {
    const pod = makePod(`p${uids++}`, { cpu, memory: "1Gi", priority });
    return podInfo({ ...pod, metadata: { ...pod.metadata, uid: `u${uids}` } });
  });
}

function report(name: string, pods: number, began: NodeJS.CpuUsage, said: string): void {
  const { system, user } = process.cpuUsage(began);
  const rate = Math.round(pods / ((system + user) / 1_000_000));
  console.log(`${name.padEnd(28)} ${String(rate).padStart(8)} pods per CPU second  ${said}`);
}

function placing(name: string, cpu: string, topologyKey: string | undefined): void {
  const deps = makeWorld();
  const began = process.cpuUsage();
  let placed = 0;
  for (let i = 0; i < groupCount; i++) {
    const group = members(cpu, 0);
    const question = { members: group, needed: memberCount, topologyKey, placedOn: [], skip: 0 };
    const decision = inOneTurn(placeGang(deps, question));
    if (decision.kind === "placed") placed++;
  }
  report(name, groupCount * memberCount, began, `${placed} groups of ${groupCount} placed`);
}

function preempting(): void {
  const deps = makeWorld();
  for (let i = 0; i < nodeCount; i++) {
    const pod = makePod(`low${i}`, { cpu: "60", memory: "1Gi" });
    deps.cache.confirm(podInfo({ ...pod, metadata: { ...pod.metadata, uid: `low${i}` } }), `n${i}`);
  }
  const began = process.cpuUsage();
  const more = { budgets: () => [], limits: preemptionLimits, unitOf: () => undefined };
  let victims = 0;
  for (let i = 0; i < groupCount; i++) {
    const needed = memberCount;
    const question = { members: members("32", 9), needed, topologyKey: undefined, placedOn: [] };
    const asked = { ...question, skip: 0, priority: undefined };
    const found = inOneTurn(findGangPreemption({ ...deps, ...more }, asked));
    victims += found?.victims.length ?? 0;
  }
  const said = `${victims} victims for ${groupCount} groups`;
  report("preemption", groupCount * memberCount, began, said);
}

console.log(`${nodeCount} nodes, groups of ${memberCount}`);
placing("anywhere", "1", undefined);
placing("one rack of 40 nodes", "1", "rack");
placing("never fits", "64000", undefined);
preempting();
