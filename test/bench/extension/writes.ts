/** Objects of 2 KB: what writes and lists of custom ones cost beside ConfigMaps, and what their rules add. */
import type { AnyObject } from "#api/object.ts";
import { trustStructural } from "#api/structural/structural.ts";
import { rulesOf } from "#extension/definitions/rules/rules.ts";
import type { Figures } from "./figures.ts";
import { costOf, cpuMs, inBatches, medianOf, send, type Target } from "./target.ts";
import {
  configMap,
  configMaps,
  custom,
  define,
  ruleTexts,
  specSchema,
  thingsPath,
  untilServed,
} from "./things.ts";

const merge = "application/merge-patch+json";
/** Numbers of definitions: apart from those that are counted. */
const plain = 100_000;
const ruled = 100_001;
/** Batches of one kind and of the other take turns: a process gets faster while it runs. */
const rounds = 5;

export async function writes(target: Target, count: number, figures: Figures): Promise<void> {
  await define(target, plain);
  await define(target, ruled, ruleTexts);
  await untilServed(target, plain);
  await untilServed(target, ruled);
  const make = {
    maps: (n: string) => send(target, "POST", configMaps, configMap(n)),
    custom: (n: string) => send(target, "POST", thingsPath(plain), custom(plain, n)),
    ruled: (n: string) => send(target, "POST", thingsPath(ruled), custom(ruled, n)),
  };
  const change = {
    maps: (n: string) => send(target, "PATCH", `${configMaps}/${n}`, { data: { n } }, merge),
    custom: (n: string) => {
      return send(target, "PATCH", `${thingsPath(plain)}/${n}`, { spec: { n } }, merge);
    },
  };
  // The first round compiles the code and is not counted.
  const made = await inTurns(target, count, make);
  figures.add("create of a ConfigMap of 2 KB, CPU ms", made.maps);
  figures.add("create of a custom object of 2 KB, CPU ms", made.custom);
  figures.add("its part of the ConfigMap's (<= 1.3)", made.custom / made.maps);
  const changed = await inTurns(target, count, change);
  figures.add("merge patch of a ConfigMap of 2 KB, CPU ms", changed.maps);
  figures.add("merge patch of a custom object of 2 KB, CPU ms", changed.custom);
  figures.add("its part of the ConfigMap's (<= 1.3), merge patch", changed.custom / changed.maps);
  figures.add("5 rules, added to a create, CPU us", (made.ruled - made.custom) * 1000);
}

/** @returns CPU milliseconds of one call of each, the median of the rounds. */
async function inTurns<Name extends string>(
  target: Target,
  count: number,
  calls: Readonly<Record<Name, (name: string) => Promise<void>>>,
): Promise<Record<Name, number>> {
  const names = Object.keys(calls) as Name[];
  const costs = Object.fromEntries(names.map((name) => [name, [] as number[]]));
  for (let round = -1; round < rounds; round++) {
    for (const name of names) {
      const cost = await costOf(target, count, (n) => calls[name](`o${round + 1}-${n}`));
      if (round >= 0) costs[name]?.push(cost);
    }
  }
  const medians = names.map((name) => [name, medianOf(costs[name] ?? [])]);
  return Object.fromEntries(medians) as Record<Name, number>; // one of each name
}

export async function lists(target: Target, count: number, figures: Figures): Promise<void> {
  const kind = 100_002;
  await define(target, kind);
  await untilServed(target, kind);
  const builtin = "/api/v1/namespaces/lists/configmaps";
  const own = thingsPath(kind).replace("/default/", "/lists/");
  await send(target, "POST", "/api/v1/namespaces", { metadata: { name: "lists" } });
  await inBatches(count, (n) => send(target, "POST", builtin, configMap(`o${n}`)));
  await inBatches(count, (n) => send(target, "POST", own, custom(kind, `o${n}`)));
  const maps = await listCost(target, builtin);
  const customs = await listCost(target, own);
  figures.add(`list of ${count} ConfigMaps, CPU ms`, maps);
  figures.add(`list of ${count} custom objects, CPU ms`, customs);
  figures.add("its part of the ConfigMaps' (about 1)", customs / maps);
}

/** CPU of the server: the clock would measure this process, which parses the answer. */
async function listCost(target: Target, path: string): Promise<number> {
  const times: number[] = [];
  for (let run = -2; run < rounds; run++) {
    const before = cpuMs(target);
    await target.client.request("GET", path);
    if (run >= 0) times.push(cpuMs(target) - before);
  }
  return medianOf(times);
}

/** In this process, on an object of 2 KB: its values are read, five rules evaluated, none refuses. */
export function rulesAlone(figures: Figures): void {
  const schema = { type: "object", properties: { spec: specSchema(ruleTexts) } };
  const { check } = rulesOf(trustStructural(schema));
  const object = custom(ruled, "o") as AnyObject;
  const times = 20_000;
  let startMs = 0;
  for (let n = -times; n < times; n++) {
    if (n === 0) startMs = performance.now();
    const found = check(object, object);
    if (found.errors.length !== 0) throw new Error("the rules found something");
  }
  const eachUs = ((performance.now() - startMs) * 1000) / times;
  figures.add("5 rules on an object, alone (<= 50), us", eachUs);
}
