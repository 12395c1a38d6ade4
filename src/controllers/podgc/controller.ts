/**
 * Pod garbage collector: every 20 s, deletes pods that no kubelet will ever finish (podgc/garbage.ts).
 *
 * Safe  a node must be missing for a whole quarantine and then be denied by a live GET before its
 *       pods are taken for orphans; deletes name the uid.
 */
import type { Node, Pod } from "#api/gen/types.ts";
import { ApiError } from "#api/status.ts";
import { formatTime } from "#api/time.ts";
import { commonIndexes } from "#client/local-store.ts";
import { withCondition } from "../shared/conditions.ts";
import { queueController, type Controller, type ControllerDeps } from "../shared/controller.ts";
import { refs } from "../shared/refs.ts";
import * as garbage from "./garbage.ts";

const everyMs = 20_000;
const quarantineMs = 40_000;
/** Finished pods kept; upstream's --terminated-pod-gc-threshold. */
const terminatedMax = 12_500;
/** Deletes under way at once. */
const deletesMax = 50;
const onlyKey = "all";

// long: one closure holds the informers and the quarantine that the small functions below share
export function podGarbageCollector(deps: ControllerDeps): Controller {
  const { client, clock, informers } = deps;
  const pods = informers.informer<Pod>(refs.pods);
  const nodes = informers.informer<Node>(refs.nodes);
  pods.addIndex("controllers.nodeName", commonIndexes.nodeName);
  /** Node name to the time it was first missed. */
  const missing = new Map<string, number>();
  const controller = queueController(deps, { name: "pod-garbage-collector", workers: 1 }, sweep);
  controller.queue.addAfter(onlyKey, everyMs);
  return controller;

  async function sweep(): Promise<{ readonly requeueAfterMs: number }> {
    const all = [...pods.values()];
    const byName = new Map(nodes.list().map((node) => [node.metadata?.name ?? "", node]));
    const found = [
      ...garbage.terminatedBeyond(all, terminatedMax),
      ...garbage.unscheduledTerminating(all),
      ...garbage.terminatingOutOfService(all, byName),
      ...garbage.orphaned(all, await goneNodes(all)),
    ];
    for (let at = 0; at < found.length; at += deletesMax) {
      await Promise.all(found.slice(at, at + deletesMax).map(remove));
    }
    return { requeueAfterMs: everyMs };
  }

  async function goneNodes(all: readonly Pod[]): Promise<ReadonlySet<string>> {
    const nowMs = clock.monotonicMs();
    const named = new Set(
      all.map(garbage.nodeOf).filter((name) => name !== "" && nodes.get("", name) === undefined),
    );
    for (const name of missing.keys()) if (!named.has(name)) missing.delete(name);
    for (const name of named) if (!missing.has(name)) missing.set(name, nowMs);
    const due = [...missing]
      .filter(([, sinceMs]) => nowMs - sinceMs >= quarantineMs)
      .map(([name]) => name);
    const denied = await Promise.all(due.map(isAbsent));
    return new Set(due.filter((_name, at) => denied[at]));
  }

  async function isAbsent(name: string): Promise<boolean> {
    try {
      await client.get(refs.nodes, "", name);
      return false;
    } catch (error) {
      return error instanceof ApiError && error.code === 404;
    }
  }

  async function remove({ pod, failed }: garbage.PodGarbage): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    try {
      if (failed !== undefined && !garbage.isFinished(pod)) await markFailed(pod, failed);
      await client.delete(refs.pods, namespace, name, {
        gracePeriodSeconds: 0,
        preconditions: { uid },
      });
    } catch (error) {
      if (error instanceof ApiError && (error.code === 404 || error.code === 409)) return;
      deps.log.warn("cannot delete pod", { namespace, name, error: String(error) });
    }
  }

  async function markFailed(
    pod: Pod,
    why: { readonly reason: string; readonly message: string },
  ): Promise<void> {
    const { namespace = "", name = "", uid } = pod.metadata ?? {};
    const lastTransitionTime = formatTime(clock.nowMs());
    const target = { type: "DisruptionTarget", status: "True", ...why, lastTransitionTime };
    const conditions = withCondition(pod.status?.conditions, target);
    const patch = { metadata: { uid }, status: { phase: "Failed", conditions } };
    await client.patch(refs.pods, namespace, name, "merge", patch, { subresource: "status" });
  }
}
