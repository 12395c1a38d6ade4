/**
 * A hash collision of revisions: the count in the DaemonSet's status grows, and the next round hashes with it.
 *
 * After  upstream's daemon/update.go `snapshot`: a count that the cache did not show yet is not raised again.
 */
import type { DaemonSet } from "#api/gen/types.ts";
import type { Client } from "#client/client.ts";
import { refs } from "../framework/refs.ts";

/** @throws always, so that the queue repeats the reconcile. */
export async function countCollision(client: Client, set: DaemonSet): Promise<never> {
  const { namespace = "", name = "" } = set.metadata ?? {};
  const latest = await client.get<DaemonSet>(refs.daemonsets, namespace, name);
  const count = set.status?.collisionCount;
  const { status } = latest;
  if (status?.collisionCount !== count) {
    const shown = `${count ?? "none"}, expected ${status?.collisionCount ?? "none"}`;
    throw new Error(`found a stale collision count (${shown}) of DaemonSet ${name}`);
  }
  const next = { ...latest, status: { ...noCounts, ...status, collisionCount: (count ?? 0) + 1 } };
  await client.update(refs.daemonsets, namespace, next, { subresource: "status" });
  throw new Error(`the revision of DaemonSet ${name} has the hash of another one`);
}

/** The required counters of a status. */
const noCounts = {
  currentNumberScheduled: 0,
  numberMisscheduled: 0,
  desiredNumberScheduled: 0,
  numberReady: 0,
} as const;
