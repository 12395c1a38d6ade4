/**
 * Pod garbage collector: every 20 s, deletes pods that no kubelet will ever finish (podgc/garbage.ts).
 *
 * Safe  a node must be missing for a whole quarantine and then be denied by a live GET before its
 *       pods are taken for orphans; deletes name the uid.
 */
import type { Node, Pod } from "#api/gen/types.ts";
import { formatTime } from "#api/time.ts";
import { isNotFound } from "#client/api-errors.ts";
import { queueController, type Controller, type ControllerDeps } from "../framework/controller.ts";
import { isFinished } from "../pods/pod.ts";
import { isGone, textOf } from "../framework/api-errors.ts";
import { refs } from "../framework/refs.ts";
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
  /** Node name to the time it was first missed. */
  const missing = new Map<string, number>();
  const controller = queueController(deps, { name: "pod-garbage-collector", workers: 1 }, sweep);
  controller.queue.addAfter(onlyKey, everyMs);
  return controller;

  async function sweep(): Promise<{ readonly requeueAfterMs: number }> {
    const all = [...pods.values()];
    const byName = new Map(nodes.list().map((node) => [node.metadata?.name ?? "", node]));
    const found = [
      ...garbage.findTerminatedBeyond(all, terminatedMax),
      ...garbage.findUnscheduledTerminating(all),
      ...garbage.findTerminatingOutOfService(all, byName),
      ...garbage.findOrphaned(all, await goneNodes(all)),
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
      return isNotFound(error);
    }
  }

  /** Marks a running pod as failed first: no kubelet is left to report it. */
  async function remove({ pod, disruption }: garbage.PodGarbage): Promise<void> {
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    try {
      if (!isFinished(pod)) await markFailed(pod, disruption);
      const preconditions = { uid };
      await client.delete(refs.pods, namespace, name, { gracePeriodSeconds: 0, preconditions });
    } catch (error) {
      if (!isGone(error))
        deps.log.warn("cannot delete pod", { namespace, name, error: textOf(error) });
    }
  }

  async function markFailed(pod: Pod, why: garbage.PodGarbage["disruption"]): Promise<void> {
    const { namespace = "", name = "", uid } = pod.metadata ?? {};
    const lastTransitionTime = formatTime(clock.nowMs());
    const target = { type: "DisruptionTarget", status: "True", ...why, lastTransitionTime };
    const conditions = why === undefined ? {} : { conditions: [target] };
    const patch = { metadata: { uid }, status: { phase: "Failed", ...conditions } };
    const options = { subresource: "status" };
    await client.patch(refs.pods, namespace, name, "strategic", patch, options);
  }
}
