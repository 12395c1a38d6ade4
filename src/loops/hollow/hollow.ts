/**
 * Hollow nodes: by API traffic kubelets, without containers. One process holds tens of thousands.
 *
 * Two watches in all (our nodes, all bound pods), two writes from bound to ready at most, one lease
 * write per node and ten seconds. When it stops, nodes and pods stay as they are and will be adopted,
 * addresses included, by the next process with the same names.
 */
import { publishDevices } from "./device-driver.ts";
import type { HollowDeps } from "./nodes.ts";
import { HollowNodes } from "./nodes.ts";
import { HollowNode, nodeDefaults } from "./hollow-node.ts";
import type { HollowOptions } from "./options.ts";
import { watchAsKubelets } from "./watch-shape.ts";
import { HollowPods } from "./pods.ts";

interface HollowMetrics {
  readonly nodes: number;
  readonly pods: number;
  readonly podsStarted: number;
  readonly podsStopped: number;
  readonly leaseRenewals: number;
}

/** Adds and removes nodes while hollow nodes run. */
export interface NodeRoster {
  add(node: HollowNode): void;
  delete(name: string): void;
}

export interface Hollow {
  readonly roster: NodeRoster;
  /** Runs until `signal` aborts. Call once. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when every node is registered; the write of its first lease has started then. */
  readonly registered: Promise<void>;
  metrics(): HollowMetrics;
  hasNode(name: string): boolean;
  /** Returns the node's address; "" for a node outside this process. */
  nodeAddress(name: string): string;
  /** Returns the address of a pod on one of these nodes; "" for another pod. */
  podAddress(nodeName: string, isHostNetwork: boolean, uid: string): string;
}

export function createHollowNodes(deps: HollowDeps, options: HollowOptions): Hollow {
  const nodes = new Map<string, HollowNode>();
  const defaults = nodeDefaults(options);
  for (let i = 0; i < options.count; i++) {
    const node = new HollowNode(options.firstIndex + i, options, defaults);
    nodes.set(node.name, node);
  }
  const kubelets = new HollowNodes(deps, options, nodes);
  const pods = new HollowPods(deps, options, nodes);
  const publish = async (signal: AbortSignal): Promise<void> => {
    const { devices } = options;
    if (devices === undefined) return;
    await Promise.race([kubelets.registered, aborted(signal)]);
    if (!signal.aborted) await publishDevices(deps, devices, nodes.keys(), signal);
  };
  const watch = async (signal: AbortSignal): Promise<void> => {
    if (options.watchShape === "shared") return;
    await Promise.race([kubelets.registered, aborted(signal)]);
    if (!signal.aborted) await watchAsKubelets(deps, nodes.keys(), signal);
  };
  return {
    roster: {
      add(node) {
        nodes.set(node.name, node);
        kubelets.add(node);
      },
      delete(name) {
        const node = nodes.get(name);
        nodes.delete(name);
        if (node !== undefined) kubelets.delete(node);
      },
    },
    registered: kubelets.registered,
    async run(signal) {
      await Promise.all([kubelets.run(signal), pods.run(signal), publish(signal), watch(signal)]);
    },
    hasNode: (name) => nodes.has(name),
    nodeAddress: (name) => nodes.get(name)?.address ?? "",
    podAddress: (nodeName, isHostNetwork, uid) =>
      isHostNetwork ? (nodes.get(nodeName)?.address ?? "") : pods.addressOf(uid),
    metrics: () => ({
      nodes: nodes.size,
      pods: pods.count,
      podsStarted: pods.started,
      podsStopped: pods.stopped,
      leaseRenewals: kubelets.renewals,
    }),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
