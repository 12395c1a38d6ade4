/**
 * Two clients that keep working across every crash: an operator that checks for the NOSPACE alarm, makes
 * room and disarms it; and a keeper that renews a lease forever.
 */
import type { SimEtcdClient } from "./etcd-client.ts";
import { everything, keys, spanOf, think, type WorkloadDeps } from "./etcd-workload.ts";

const lookPauseMsMax = 250;
const keepPauseMsMax = 600;

export async function operate(
  deps: WorkloadDeps,
  client: SimEtcdClient,
  untilMs: number,
): Promise<void> {
  const { random, clock } = deps;
  while (clock.monotonicMs() < untilMs) {
    await think(deps, random.below(lookPauseMsMax));
    const armed = await isArmed(client);
    // The alarm stays on for a while, so that crashes happen meanwhile.
    if (armed && random.chance(0.2)) await makeRoom(client, spanOf(random), deps.seen());
  }
}

/** Deletes all keys, so that the next put has room under any quota. */
export async function clearAway(client: SimEtcdClient): Promise<void> {
  await isArmed(client);
  const read = await client.ask({ kind: "range", ...everything, revision: 0, limit: 1 });
  await makeRoom(client, everything, read?.kind === "answered" ? read.revision : 0);
}

async function isArmed(client: SimEtcdClient): Promise<boolean> {
  const told = await client.ask({ kind: "alarms" });
  return told?.kind === "answered" && told.answer.kind === "alarms" && told.answer.armed;
}

async function makeRoom(
  client: SimEtcdClient,
  span: { readonly key: string; readonly end: string },
  seen: number,
): Promise<void> {
  const deleted = await client.ask({ kind: "delete", ...span });
  const revision = deleted?.kind === "answered" ? deleted.revision : seen;
  if (revision > 1) await client.ask({ kind: "compact", revision: Math.min(revision, seen) });
  await client.ask({ kind: "disarm" });
}

/** Renews a lease without end, on whatever server is running. If the lease ends anyway, another one follows. */
export async function keepLease(
  deps: WorkloadDeps,
  client: SimEtcdClient,
  first: number,
  untilMs: number,
): Promise<void> {
  const { random, clock, leases } = deps;
  for (let id = first; clock.monotonicMs() < untilMs; id++) {
    const lease = String(id);
    const granted = await client.ask({ kind: "grant", lease, ttlSeconds: 2 });
    let alive = granted?.kind === "answered";
    if (alive) leases.push(lease);
    while (alive && clock.monotonicMs() < untilMs) {
      const value = `${client.name}.${lease}`;
      const put = { kind: "put", key: random.pick(keys), value, lease, ignore: "none" } as const;
      if (random.chance(0.3)) await client.ask(put);
      const told = await client.renew(lease);
      const gone = told?.kind === "answered" && told.answer.kind === "lease";
      alive = !(gone && told.answer.ttlSeconds <= 0);
      if (random.chance(0.3)) await client.ask({ kind: "remaining", lease });
      await think(deps, random.below(keepPauseMsMax));
    }
    await think(deps, random.below(keepPauseMsMax));
  }
}
