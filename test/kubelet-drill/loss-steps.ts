/** A node is lost and comes back; and at the end everything goes. */
import type { Cluster } from "./cluster.ts";
import { readyNodes, rollout } from "./join.ts";
import { places, setCable } from "./network.ts";
import { namespace } from "./objects.ts";
import { expect, until } from "./shell.ts";
import type { Step } from "./table.ts";
import { podsOf } from "./workload-steps.ts";

const lossMs = 120_000;
const [kept, lost] = places;

export function lossSteps(cluster: Cluster): readonly Step[] {
  return [
    { name: "a node is lost", run: () => lose(cluster) },
    { name: "its pods are replaced", run: () => replacePods(cluster) },
    { name: "the node comes back", run: () => comeBack(cluster) },
    { name: "no container restarted", run: () => countRestarts(cluster) },
    { name: "the namespace is deleted", run: () => remove(cluster) },
  ];
}

async function lose(cluster: Cluster): Promise<string> {
  if (lost === undefined) throw new Error("no second node");
  await setCable(lost, "down");
  await until(`${lost.name} not Ready`, lossMs, async () =>
    (await readyNodes(cluster)).some((line) => line.startsWith(lost.name)) ? undefined : true,
  );
  return `cable pulled; Ready became Unknown`;
}

async function replacePods(cluster: Cluster): Promise<string> {
  const ready = await until(`4 pods on ${kept?.name}`, lossMs, async () => {
    const pods = await podsOf(cluster, "web");
    const fresh = pods.filter((pod) => pod.isReady && !pod.isLeaving && pod.node === kept?.name);
    return fresh.length === 4 ? fresh : undefined;
  });
  return `${ready.length} pods Ready on the other node`;
}

async function comeBack(cluster: Cluster): Promise<string> {
  if (lost === undefined) throw new Error("no second node");
  await setCable(lost, "up");
  await until(`${lost.name} Ready`, lossMs, async () =>
    (await readyNodes(cluster)).some((line) => line.startsWith(lost.name)) ? true : undefined,
  );
  await until("deleted pods gone", lossMs, async () =>
    (await podsOf(cluster, "")).some((pod) => pod.isLeaving) ? undefined : true,
  );
  await rollout(cluster, namespace, "daemonset/everywhere");
  await rollout(cluster, namespace, "statefulset/ordered");
  return "Ready; the evicted pods are gone, DaemonSet and StatefulSet complete";
}

async function countRestarts(cluster: Cluster): Promise<string> {
  const pods = await podsOf(cluster, "");
  const restarted = pods.filter((pod) => pod.restarts > 0).map((pod) => pod.name);
  expect(restarted.length === 0, `restarted: ${restarted.join()}`);
  return `${pods.length} pods`;
}

async function remove(cluster: Cluster): Promise<string> {
  await cluster.kubectl("delete", "namespace", namespace, "--timeout=110s");
  return "every pod ended on its node first";
}
