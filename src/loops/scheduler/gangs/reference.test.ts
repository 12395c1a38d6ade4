/**
 * Compares decisions about groups with a simple oracle, for random clusters and random groups of equal Pods. A group
 * must be placed exactly when some assignment fits `needed` of its Pods (counted node by node, domain by domain). It
 * must never be placed in part, exceed a node, or span two domains. Preemption must take exactly the needed victims.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeRandom } from "#platform/testing/random.ts";
import { Cache } from "../cache.ts";
import { defaultPlugins } from "../default-plugins.ts";
import { Nominations } from "../nominations.ts";
import { type PodInfo, podInfo } from "../pod-info.ts";
import { preemptionLimits } from "../preemption-limits.ts";
import { ScheduleAlgorithm } from "../schedule-algorithm.ts";
import { makeNode, makePod, noVolumes } from "../testing.ts";
import { takeBack } from "./decide-gang.ts";
import { findGangPreemption } from "./gang-preemption.ts";
import { placeGang } from "./place-gang.ts";
import { inOneTurn } from "./testing.ts";

interface WorldNode {
  readonly name: string;
  readonly cpu: number;
  readonly rack: string;
}

interface World {
  readonly cache: Cache;
  readonly deps: {
    readonly cache: Cache;
    readonly decider: ScheduleAlgorithm;
    readonly nominations: Nominations;
  };
  readonly nodes: WorldNode[];
  /** By uid. */
  readonly placed: Map<
    string,
    { readonly info: PodInfo; readonly node: string; readonly cpu: number }
  >;
}

let uids = 0;
/** When a question ends its turn. */
const turns = new FakeRandom(7);

function pod(cpu: number, priority: number): PodInfo {
  const name = `p${uids++}`;
  const made = makePod(name, { cpu: String(cpu), priority });
  return podInfo({ ...made, metadata: { ...made.metadata, uid: name } });
}

function makeWorld(random: FakeRandom): World {
  const namespaces = () => undefined;
  const cache = new Cache({ namespaces });
  const nominations = new Nominations();
  const more = { namespaces, volumes: noVolumes, nominations, plugins: defaultPlugins };
  const decider = new ScheduleAlgorithm({ cache, random, ...more });
  const nodes: WorldNode[] = [];
  const world = { cache, deps: { cache, decider, nominations }, nodes, placed: new Map() };
  const count = 2 + random.below(7);
  for (let i = 0; i < count; i++) setNode(random, world, `n${i}`);
  return world;
}

function setNode(random: FakeRandom, { cache, nodes }: World, name: string): void {
  const node = { name, cpu: 1 + random.below(4), rack: `r${random.below(3)}` };
  const at = nodes.findIndex((one) => one.name === name);
  if (at < 0) nodes.push(node);
  else nodes[at] = node;
  const { cpu, rack } = node;
  cache.setNode(makeNode(name, { cpu: String(cpu), pods: "5", labels: { rack } }));
}

/** A node goes, with its Pods still on it, comes back, or is larger, smaller or in another rack. */
function changeNode(random: FakeRandom, world: World): void {
  const name = `n${random.below(9)}`;
  const at = world.nodes.findIndex((one) => one.name === name);
  const mayGo = at >= 0 && world.nodes.length > 1 && random.below(2) === 0;
  if (!mayGo) return setNode(random, world, name);
  world.nodes.splice(at, 1);
  world.cache.deleteNode(name);
}

function put(world: World, node: string, cpu: number, priority: number): void {
  const info = pod(cpu, priority);
  world.cache.confirm(info, node);
  world.placed.set(info.uid, { info, node, cpu });
}

/** Free cpu of a node, and free places for Pods, with only the Pods counted that `counts` says. */
function freeOn(world: World, name: string, counts: (info: PodInfo) => boolean): number[] {
  const here = [...world.placed.values()].filter((p) => p.node === name && counts(p.info));
  const cpu = world.nodes.find((node) => node.name === name)?.cpu ?? 0;
  return [here.reduce((left, p) => left - p.cpu, cpu), 5 - here.length];
}

/** How many Pods of this size the nodes hold: equal Pods hinder one another only on their own node. */
function capacity(world: World, cpu: number, rack: string | undefined, counts = everybody): number {
  return world.nodes
    .filter((node) => rack === undefined || node.rack === rack)
    .map(({ name }) => freeOn(world, name, counts))
    .reduce(
      (sum, [free = 0, places = 0]) => sum + Math.max(0, Math.min(Math.floor(free / cpu), places)),
      0,
    );
}

const everybody: (info: PodInfo) => boolean = () => true;

/** What the cluster looks like to a decision, as text. */
function snapshot({ cache, nodes }: World): string {
  return nodes
    .map(({ name }) => {
      const slot = cache.nodes.slotOf(name) ?? -1;
      const uidsHere = [...cache.podsOn(slot)].map(({ uid }) => uid).sort();
      return [name, cache.nodes.cpuUsed[slot], cache.nodes.podsUsed[slot], ...uidsHere].join();
    })
    .join(";");
}

function checkSeed(seed: number): void {
  const random = new FakeRandom(seed);
  const world = makeWorld(random);
  for (let step = 0; step < 25; step++) {
    if (random.below(3) === 0) changeNode(random, world);
    for (const { name } of world.nodes) {
      const [free = 0, places = 0] = freeOn(world, name, everybody);
      if (random.below(3) === 0 && free >= 1 && places > 0) put(world, name, 1, random.below(3));
    }
    for (const [uid] of world.placed) {
      if (random.below(3) > 0) continue;
      world.placed.delete(uid);
      world.cache.removePod(uid);
    }
    checkGroup(world, random, `seed ${seed} step ${step}`);
  }
}

function checkGroup(world: World, random: FakeRandom, at: string): void {
  const cpu = 1 + random.below(2);
  const members = Array.from({ length: 1 + random.below(8) }, () => pod(cpu, 2));
  const needed = 1 + random.below(members.length);
  const topologyKey = random.below(2) === 0 ? "rack" : undefined;
  const question = { members, needed, topologyKey, placedOn: [], skip: 0 };
  const racks =
    topologyKey === undefined ? [undefined] : [...new Set(world.nodes.map((n) => n.rack))];
  const most = Math.max(...racks.map((rack) => capacity(world, cpu, rack)));
  const before = snapshot(world);
  const decision = inOneTurn(placeGang(world.deps, question));
  assert.equal(decision.kind, most >= needed ? "placed" : "none", at);
  if (decision.kind === "placed") {
    const { placements } = decision.trial;
    assert.equal(placements.length, Math.min(members.length, most), `${at}: as many as fit`);
    checkPlaces(world, placements, topologyKey, at);
    takeBack(world.deps, decision.trial);
  }
  assert.equal(snapshot(world), before, `${at}: all of it was taken back`);
  if (decision.kind === "none") checkPreemption(world, question, cpu, racks, at);
}

function checkPlaces(
  world: World,
  placements: readonly { readonly nodeName: string }[],
  topologyKey: string | undefined,
  at: string,
): void {
  for (const { name, cpu } of world.nodes) {
    const slot = world.cache.nodes.slotOf(name) ?? -1;
    // A node that got smaller may hold too much already, but takes nothing more.
    if (!placements.some(({ nodeName }) => nodeName === name)) continue;
    const { cpuUsed, podsUsed } = world.cache.nodes;
    assert.ok((cpuUsed[slot] ?? 0) <= cpu * 1_000, `${at}: ${name} overcommitted`);
    assert.ok((podsUsed[slot] ?? 0) <= 5, `${at}: ${name} overcommitted`);
  }
  const racks = placements.map(
    ({ nodeName }) => world.nodes.find((n) => n.name === nodeName)?.rack,
  );
  if (topologyKey !== undefined) assert.equal(new Set(racks).size, 1, `${at}: one domain`);
}

function checkPreemption(
  world: World,
  question: Parameters<typeof placeGang>[1],
  cpu: number,
  racks: readonly (string | undefined)[],
  at: string,
): void {
  const { needed } = question;
  const fitsWithout = (gone: ReadonlySet<string>): boolean =>
    racks.some((rack) => capacity(world, cpu, rack, ({ uid }) => !gone.has(uid)) >= needed);
  const lower = [...world.placed.values()].filter(({ info }) => info.priority < 2);
  const canHelp = fitsWithout(new Set(lower.map(({ info }) => info.uid)));
  const before = snapshot(world);
  const more = { budgets: () => [], limits: preemptionLimits, unitOf: () => undefined };
  const asked = { ...question, priority: undefined };
  const isTurnOver = (): boolean => turns.below(4) === 0;
  const search = findGangPreemption({ ...world.deps, ...more, isTurnOver }, asked);
  let step = search.next();
  for (; step.done !== true; step = search.next()) {
    assert.equal(snapshot(world), before, `${at}: nothing is changed between two turns`);
  }
  const found = step.value;
  assert.equal(snapshot(world), before, `${at}: nothing is changed by the question`);
  assert.equal(found !== undefined, canHelp, `${at}: preemption`);
  if (found === undefined) return;
  assert.ok(
    found.victims.every(({ info }) => info.priority < 2),
    `${at}: only lower ones`,
  );
  const gone = new Set(found.victims.map(({ info }) => info.uid));
  assert.ok(fitsWithout(gone), `${at}: it fits then`);
  assert.ok(found.nodes.size >= needed, `${at}: enough are nominated`);
  for (const uid of gone) {
    const spared = new Set(gone);
    spared.delete(uid);
    const fits = fitsAsNominated(world, found.nodes, spared, cpu);
    assert.ok(!fits, `${at}: ${uid} need not go`);
  }
}

/** Whether the group's Pods fit where they are to go when only these have left. */
function fitsAsNominated(
  world: World,
  nodes: ReadonlyMap<string, string>,
  gone: ReadonlySet<string>,
  cpu: number,
): boolean {
  return world.nodes.every(({ name }) => {
    const count = [...nodes.values()].filter((one) => one === name).length;
    const [free = 0, places = 0] = freeOn(world, name, ({ uid }) => !gone.has(uid));
    return count === 0 || (count * cpu <= free && count <= places);
  });
}

test("groups are placed exactly when they fit, whole, and preempt exactly when that helps", () => {
  const seeds = Number(process.env["REFERENCE_SEEDS"] ?? 60);
  for (let seed = 1; seed <= seeds; seed++) checkSeed(seed);
});

test("Pods of a group share the room that one victim leaves", () => {
  const world = makeWorld(new FakeRandom(1));
  for (const { name } of world.nodes.splice(0)) world.cache.deleteNode(name);
  for (const name of ["a", "b", "c"]) {
    world.nodes.push({ name, cpu: 4, rack: "r" });
    world.cache.setNode(makeNode(name, { cpu: "4", pods: "5" }));
    put(world, name, 4, 0);
  }
  const more = { budgets: () => [], limits: preemptionLimits, unitOf: () => undefined };
  const members = Array.from({ length: 4 }, () => pod(2, 1));
  const question = { members, needed: 4, topologyKey: undefined, placedOn: [], skip: 0 };
  const asked = { ...question, priority: undefined };
  const found = inOneTurn(findGangPreemption({ ...world.deps, ...more }, asked));
  assert.equal(found?.victims.length, 2);
});
