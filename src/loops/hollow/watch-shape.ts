/**
 * The watches that a kubelet, a kube-proxy and a network plugin keep per node, so that the watch side is loaded as by real
 * nodes: 18 each, as counted on clusters of them. What they bring is dropped.
 *
 * Cost   a list, a watch and some KB per watch; nodes start one after the other, `watchesPerSecond` watches at most.
 */
import type { KubeObject } from "#api/object.ts";
import {
  type ReflectorDeps,
  runReflector,
  type ReflectorSink,
  type Selection,
} from "#client/reflector.ts";
import { sleep } from "#platform/clock.ts";

export type WatchShape = "shared" | "kubelet";

const watchesPerSecond = 1_000;

function selectionsOf(node: string): readonly Selection[] {
  const core = (resource: string) => ({ ref: { group: "", version: "v1", resource } });
  const named = (name: string) => ({ fieldSelector: `metadata.name=${name}` });
  const other = (group: string, resource: string) => ({ ref: { group, version: "v1", resource } });
  const bound = { ...core("pods"), fieldSelector: `spec.nodeName=${node}` };
  const self = { ...core("nodes"), ...named(node) };
  const configMap = (namespace: string, name: string) => ({
    ...core("configmaps"),
    namespace,
    ...named(name),
  });
  const secret = (namespace: string) => ({ ...core("secrets"), namespace, ...named(node) });
  return [
    configMap("default", "kube-root-ca.crt"),
    configMap("kube-system", "kube-root-ca.crt"),
    configMap("kube-system", "kube-proxy"),
    configMap("kube-system", "coredns"),
    bound,
    bound,
    secret("default"),
    secret("kube-system"),
    core("services"),
    core("services"),
    self,
    self,
    core("namespaces"),
    core("endpoints"),
    other("storage.k8s.io", "csidrivers"),
    other("node.k8s.io", "runtimeclasses"),
    other("discovery.k8s.io", "endpointslices"),
    other("networking.k8s.io", "networkpolicies"),
  ];
}

const dropped: ReflectorSink<KubeObject> = { replace: () => {}, apply: () => {} };

/** Keeps the watches of kubelets open until `signal` aborts. */
export async function watchAsKubelets(
  deps: ReflectorDeps,
  nodes: Iterable<string>,
  signal: AbortSignal,
): Promise<void> {
  const running: Promise<void>[] = [];
  for (const node of nodes) {
    const selections = selectionsOf(node);
    for (const selection of selections) {
      running.push(runReflector<KubeObject>(deps, selection, dropped, signal));
    }
    await sleep(
      deps.clock,
      "hollow.watches",
      (selections.length * 1_000) / watchesPerSecond,
      signal,
    );
    if (signal.aborted) break;
  }
  await Promise.all(running);
}
