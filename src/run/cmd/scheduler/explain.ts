/** `pilothouse scheduler explain POD`: the reason why a Pod of a live cluster is on its node, or on none. It only reads. */
import type { Namespace, Node, Pod, Service } from "#api/gen/types.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { createInformerSet } from "#client/informer-set.ts";
import { silentLog } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { NodeRandom } from "#platform/node/random.ts";
import { Cache } from "#scheduler/cache.ts";
import { explainPod, explanationText } from "#scheduler/explain.ts";
import { explainGroup } from "#scheduler/gangs/explain-group.ts";
import { groupRefs } from "#scheduler/gangs/group-sources.ts";
import { groupRefOf } from "#scheduler/gangs/group-spec.ts";
import { Nominations } from "#scheduler/nominations.ts";
import { podInfo } from "#scheduler/pod-info.ts";
import { defaultProfile } from "#scheduler/profile.ts";
import { ScheduleAlgorithm } from "#scheduler/schedule-algorithm.ts";
import { Volumes } from "#scheduler/volumes.ts";
import { ApiConnection, apiAccess } from "../shared/api-access.ts";
import { UsageError } from "../shared/usage-error.ts";
import { readSchedulerConfig } from "./config.ts";
import type { SchedulerFlags } from "./flags.ts";

export interface ExplainFlags {
  readonly kubeconfig?: string;
  readonly namespace: string;
  readonly config?: string;
  readonly output: "text" | "json";
}

const core = (resource: string): ResourceRef => ({ group: "", version: "v1", resource });

/** Prints the explanation. Throws UsageError when the Pod does not exist. */
export async function explain(name: string, given: ExplainFlags): Promise<void> {
  const { flags, options } = readSchedulerConfig(given as unknown as SchedulerFlags);
  const connection = new ApiConnection(await apiAccess(flags), "pilothouse-explain");
  const ending = new AbortController();
  const deps = {
    client: connection.client(),
    clock: new NodeClock(),
    random: new NodeRandom(),
    log: silentLog,
  };
  const informers = createInformerSet(deps);
  const pods = informers.informer<Pod>(core("pods"));
  const nodes = informers.informer<Node>(core("nodes"));
  const spaces = informers.informer<Namespace>(core("namespaces"));
  const services = informers.informer<Service>(core("services"));
  const volumes = new Volumes({ ...deps, informers, pods });
  const running = informers.run(ending.signal);
  try {
    const removers = volumes.subscribe(() => {});
    await Promise.all([pods, nodes, spaces, services].map(({ synced }) => synced));
    await Promise.all(volumes.synced);
    const pod = pods.get(given.namespace, name);
    if (pod === undefined) throw new UsageError(`no pod ${given.namespace}/${name}`);
    const namespaces = (space: string) => spaces.get("", space)?.metadata?.labels;
    const cache = new Cache({ namespaces });
    for (const node of nodes.list()) cache.setNode(node);
    for (const other of pods.list()) if (takesRoom(other, pod)) place(cache, other);
    const asked = pod.spec?.schedulerName ?? defaultProfile.schedulerName;
    const profile = options.profiles.find(({ schedulerName }) => schedulerName === asked);
    const { plugins } = profile ?? defaultProfile;
    const shared = {
      cache,
      random: deps.random,
      namespaces,
      volumes,
      nominations: new Nominations(),
    };
    const decider = new ScheduleAlgorithm({
      ...shared,
      plugins,
      services: (space) => services.list(space),
    });
    const group = await groupOf(deps.client, pod, pods.list(given.namespace));
    const found = { ...explainPod({ cache, decider }, pod), ...(group ? { group } : {}) };
    const text = given.output === "json" ? `${JSON.stringify(found)}\n` : explanationText(found);
    process.stdout.write(text);
    for (const remove of removers) remove();
  } finally {
    ending.abort();
    await running;
    connection.close();
  }
}

/** Returns the condition that the Pod's group waits for. Undefined: the Pod has no group. */
async function groupOf(
  client: Client,
  pod: Pod,
  pods: readonly Pod[],
): Promise<string | undefined> {
  const ref = groupRefOf(pod);
  if (ref === undefined) return undefined;
  try {
    return explainGroup(ref, await client.get(groupRefs[ref.form], ref.namespace, ref.name), pods);
  } catch (error) {
    if (isNotFound(error)) return explainGroup(ref, undefined, pods);
    throw error;
  }
}

function takesRoom(other: Pod, pod: Pod): boolean {
  const { phase } = other.status ?? {};
  const isPlaced =
    (other.spec?.nodeName ?? "") !== "" && phase !== "Succeeded" && phase !== "Failed";
  return isPlaced && other.metadata?.uid !== pod.metadata?.uid;
}

function place(cache: Cache, pod: Pod): void {
  cache.confirm(podInfo(pod), pod.spec?.nodeName ?? "");
}
