/** Finds kubelets that do not renew their leases. If all of them are silent, the cause is not the nodes. */
import type { Evidence } from "../evidence.ts";
import { quoted, type Rule, type Verdict } from "../rule.ts";

/** Default grace period of the controller manager. */
const graceMs = 50_000;
/** Share of silent nodes in a zone from which the controller manager slows its evictions. */
const disruptedShare = 0.55;
const namedMax = 5;

export const silentNodes: Rule = {
  id: "silent-nodes",
  title: "Nodes do not renew their leases",
  reads: ["nodeLeases"],
  threshold: "a node's lease is older than 50 s; 55 % of the nodes page",
  source: "upstream's node lifecycle controller: grace period 50 s, unhealthy zone 55 %",
  judge: (evidence) => {
    const silent = silentNodesOf(evidence);
    const all = evidence.objects.nodeLeases.length;
    if (silent.length === 0) return [];
    if (silent.length === all && all > 1) return [everyNode(all)];
    return [silentZone(evidence, silent) ?? someNodes(evidence, silent)];
  },
};

interface Leases {
  readonly nowMs: number;
  readonly objects: Pick<Evidence["objects"], "nodeLeases">;
}

/** Returns the names of nodes whose lease is past the grace period. */
export function silentNodesOf({ nowMs, objects }: Leases): readonly string[] {
  return objects.nodeLeases
    .filter(({ spec }) => nowMs - Date.parse(String(spec?.["renewTime"])) > graceMs)
    .map(({ metadata }) => metadata.name);
}

/** Returns the first few names, and the number of the others. */
export function nodeNames(nodes: readonly string[]): string {
  const more = nodes.length > namedMax ? ` and ${nodes.length - namedMax} more` : "";
  return `node ${nodes.slice(0, namedMax).join(", ")}${more}`;
}

function everyNode(all: number): Verdict {
  return {
    sentence: `none of the ${all} nodes renews its lease: the way to the API server is cut, not the nodes`,
    culprit: "what all nodes share: load balancer, certificate, clock or network",
    severity: "page",
    figures: { silent: all, nodes: all },
    remedy:
      "on a node: journalctl -u kubelet | tail, and curl -k https://SERVER:PORT/readyz; compare the clocks; repair that, and evict nothing",
    certainty: 0.9,
    unseen: "which of them: a kubelet's log says",
  };
}

/** Undefined: the silent nodes are in several zones, all nodes are in one zone, or the zones were not read. */
function silentZone({ zones }: Evidence, silent: readonly string[]): Verdict | undefined {
  const all = [...(zones?.values() ?? [])];
  const zone = zones?.get(silent[0] ?? "");
  if (zone === undefined || silent.length < 2 || !all.some((other) => other !== zone)) {
    return undefined;
  }
  if (!silent.every((node) => zones?.get(node) === zone)) return undefined;
  const inZone = all.filter((other) => other === zone).length;
  return {
    sentence: `${silent.length} of ${inZone} nodes of zone ${zone} did not renew their lease for 50 s, and no node of another zone`,
    culprit: `zone ${zone}: ${nodeNames(silent)}`,
    severity: silent.length >= disruptedShare * inZone ? "page" : "warn",
    figures: { silent: silent.length, nodesOfZone: inZone, nodes: all.length },
    remedy: `look at the network and power of that zone first; kubectl get nodes -l topology.kubernetes.io/zone=${quoted(zone)}`,
    certainty: 0.95,
  };
}

function someNodes({ objects, zones }: Evidence, silent: readonly string[]): Verdict {
  const all = objects.nodeLeases.length;
  const [first = ""] = silent;
  const isMost = silent.length >= disruptedShare * all && silent.length > 2;
  return {
    sentence: `${silent.length} of ${all} nodes did not renew their lease for 50 s`,
    culprit: nodeNames(silent),
    severity: isMost ? "page" : "warn",
    figures: { silent: silent.length, nodes: all },
    remedy: `kubectl describe node ${quoted(first)}; on it: journalctl -u kubelet | tail`,
    certainty: 0.9,
    ...(zones === undefined ? { unseen: "the zones of the nodes: the right to list nodes" } : {}),
  };
}
