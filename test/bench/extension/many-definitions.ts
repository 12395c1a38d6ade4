/** So many definitions: time, memory, one more of them, OpenAPI, and what writes of other kinds notice. */
import type { Figures } from "./figures.ts";
import {
  after,
  cpuMs,
  inBatches,
  latencyMs,
  medianOf,
  residentKb,
  send,
  type Target,
} from "./target.ts";
import { configMap, configMaps, define, definition, definitions, isEstablished } from "./things.ts";

const settleMs = 5_000;
const latencies = 300;

export async function manyDefinitions(
  target: Target,
  count: number,
  figures: Figures,
): Promise<void> {
  await createMaps(target, "warm");
  figures.add("create of a ConfigMap before, ms", await createMaps(target, "before"));
  await after(settleMs);
  const residentBefore = residentKb(target);
  const cpuBefore = cpuMs(target);
  const startMs = performance.now();
  await inBatches(count, (n) => send(target, "POST", definitions, definition(n)));
  while ((await countEstablished(target)) < count) await after(100);
  figures.add(`${count} definitions established (<= 15), s`, (performance.now() - startMs) / 1000);
  figures.add("CPU of each, ms", (cpuMs(target) - cpuBefore) / count);
  await after(settleMs);
  figures.add(
    "resident memory of each (<= 100), KB",
    (residentKb(target) - residentBefore) / count,
  );
  figures.add("create of a ConfigMap beside them, ms", await createMaps(target, "beside"));
  await furtherDefinitions(target, count, figures);
  await documents(target, figures);
  figures.add("create of a ConfigMap after OpenAPI was read, ms", await createMaps(target, "read"));
}

async function countEstablished(target: Target): Promise<number> {
  const { body } = await target.client.request("GET", definitions);
  const { items = [] } = body as { items?: unknown[] };
  return items.filter(isEstablished).length;
}

/** Twenty: their cost, and the time of a ConfigMap's create meanwhile. */
async function furtherDefinitions(target: Target, count: number, figures: Figures): Promise<void> {
  const costs: number[] = [];
  for (let n = 0; n < 20; n++) {
    const before = cpuMs(target);
    await define(target, count + n);
    costs.push(cpuMs(target) - before);
  }
  figures.add("a further definition (<= 20), CPU ms", medianOf(costs));
  let isOver = false;
  const changes = (async () => {
    for (let n = 20; n < 60; n++) await define(target, count + n);
    isOver = true;
  })();
  const times: number[] = [];
  for (let n = 0; !isOver; n++) times.push(await createOne(target, `meanwhile-${n}`));
  await changes;
  figures.add("create of a ConfigMap while 40 are defined, ms", medianOf(times));
}

async function documents(target: Target, figures: Figures): Promise<void> {
  for (const [path, what] of [
    ["/openapi/v2", "OpenAPI v2 of all, first (<= 2), s"],
    ["/openapi/v2", "OpenAPI v2 of all, then, s"],
    ["/openapi/v3", "OpenAPI v3, the index, s"],
    ["/apis", "discovery, s"],
  ] as const) {
    const startMs = performance.now();
    await send(target, "GET", path);
    figures.add(what, (performance.now() - startMs) / 1000);
  }
}

function createMaps(target: Target, name: string): Promise<number> {
  return latencyMs(latencies, (n) => send(target, "POST", configMaps, configMap(`${name}-${n}`)));
}

function createOne(target: Target, name: string): Promise<number> {
  return latencyMs(1, () => send(target, "POST", configMaps, configMap(name)));
}
