/**
 * Requests that grow with the replicas of a workload: each of its pods lists a kind again and again, or watches all of it. The audit
 * log has the callers, the workloads of their namespaces have the replicas.
 */
import { growth, type Call, type Evidence, type Workload } from "../evidence.ts";
import { relayManifest } from "../relay-advice.ts";
import { kindOf, type Rule, type Verdict } from "../rule.ts";

const clientsMin = 10;
const listsPerSecond = 5;
const pagePerSecond = 50;
const watchersMin = 100;
const sizes = "apiserver_response_sizes";

export const fanOut: Rule = {
  id: "fan-out",
  title: "A workload's requests grow with its replicas",
  reads: ["audit log", "workloads", "nodeLeases", `${sizes}_sum`, `${sizes}_count`],
  threshold:
    "one workload of at least ten pods: 5 lists of a resource a second, 50 page; or 100 pods, and more than there are nodes, that watch a whole resource",
  source: "180 proxies that listed 15,000 Ingresses each 3 s; OpenAI's outage of December 2024",
  judge: (evidence) =>
    [...crowdsOf(evidence)].flatMap((crowd) => {
      const verdict = judgeCrowd(crowd, evidence);
      return verdict === undefined ? [] : [verdict];
    }),
};

/** Calls of one user for one resource. */
interface Crowd {
  readonly user: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly userAgent: string;
  lists: number;
  watches: number;
  /** Number of clients that the audit log tells apart. */
  clients: number;
}

function crowdsOf({ audit }: Pick<Evidence, "audit">): Iterable<Crowd> {
  const crowds = new Map<string, Crowd>();
  for (const call of audit?.calls ?? []) {
    // Each kubelet is a separate user, and kubelet requests grow with the nodes, not with a workload.
    if (call.kind === "write" || call.user.startsWith("system:node:")) continue;
    const key = JSON.stringify([call.user, call.group, call.resource]);
    const crowd = crowds.get(key) ?? crowdOf(call);
    if (call.kind === "watch") crowd.watches += call.count;
    else crowd.lists += call.count;
    crowd.clients = Math.max(crowd.clients, call.clients ?? 0);
    crowds.set(key, crowd);
  }
  return crowds.values();
}

function crowdOf({ user, group, version = "", resource, userAgent }: Call): Crowd {
  return { user, group, version, resource, userAgent, lists: 0, watches: 0, clients: 0 };
}

/** Returns the namespaces of the busiest callers, the busiest first. Their workloads show how many pods a caller may have. */
export function namespacesOfCrowds(
  evidence: Pick<Evidence, "audit">,
  max: number,
): readonly string[] {
  const seconds = evidence.audit?.seconds ?? 1;
  const crowds = [...crowdsOf(evidence)]
    .filter((crowd) => crowd.lists >= listsPerSecond * seconds || crowd.watches >= watchersMin)
    .toSorted((a, b) => b.lists + b.watches - a.lists - a.watches);
  const namespaces = crowds.flatMap(({ user }) => accountOf(user)?.namespace ?? []);
  return [...new Set(namespaces)].slice(0, max);
}

function judgeCrowd(crowd: Crowd, evidence: Evidence): Verdict | undefined {
  const owners = ownersOf(crowd.user, evidence.workloads ?? []);
  const clients = clientsOf(crowd, owners);
  const perSecond = crowd.lists / (evidence.audit?.seconds ?? 1);
  const isPolling = clients >= clientsMin && perSecond >= listsPerSecond;
  const nodes = evidence.objects.nodeLeases.length;
  const isDaemon = owners.some(({ kind }) => kind === "daemonset");
  const isWatching =
    clients >= watchersMin && crowd.watches >= watchersMin && clients > nodes && !isDaemon;
  if (!isPolling && !isWatching) return undefined;
  return verdictOf(crowd, { owners, clients, perSecond, isPolling }, evidence);
}

interface Judged {
  readonly owners: readonly Workload[];
  readonly clients: number;
  readonly perSecond: number;
  readonly isPolling: boolean;
}

function verdictOf(crowd: Crowd, judged: Judged, evidence: Evidence): Verdict {
  const { owners, clients, perSecond, isPolling } = judged;
  const kind = kindOf(crowd.group, crowd.resource);
  const [owner] = owners;
  const what = isPolling
    ? `list ${kind} ${round(perSecond)} times a second`
    : `watch all of ${kind}`;
  const who = owner === undefined ? crowd.user : `${owner.kind} ${owner.namespace}/${owner.name}`;
  const isSeen = crowd.clients > 1;
  return {
    sentence: `${clients} pods of ${who} ${what}: it grows with every replica`,
    culprit: `${who}, ${crowd.userAgent === "" ? "without a user agent" : crowd.userAgent} (${crowd.user})`,
    severity: perSecond >= pagePerSecond ? "page" : "warn",
    figures: figuresOf(crowd, judged, evidence),
    remedy:
      "put a relay before it, which lists and watches once for all of them: values.yaml and patch.yaml are",
    manifest: relayManifest([crowd], owners.length === 1 ? owner : undefined),
    certainty: isSeen && owners.length === 1 ? 0.95 : isSeen ? 0.85 : 0.7,
    ...(owners.length === 1 ? {} : { unseen: unseenOf(owners) }),
  };
}

/** `Before` figures: current requests. `After` figures: requests of the relay, regardless of the replicas. */
function figuresOf(
  crowd: Crowd,
  { clients, perSecond }: Judged,
  evidence: Evidence,
): Verdict["figures"] {
  const size = meanListBytes(evidence, crowd);
  return {
    pods: clients,
    listsPerSecondBefore: round(perSecond),
    listsPerSecondAfter: 0,
    ...(size === undefined ? {} : { bytesPerSecondBefore: Math.round(size * perSecond) }),
    watchesBefore: crowd.watches,
    watchesAfter: 1,
  };
}

function unseenOf(owners: readonly Workload[]): string {
  return owners.length === 0
    ? "the workload that runs these pods: list on deployments, daemonsets and statefulsets shows it"
    : `which of ${owners.length} workloads with this service account it is: an account for each shows it`;
}

/**
 * Returns the number of clients. Clients behind one address look like one. If the account has only one workload, its
 * replicas count instead.
 */
function clientsOf({ clients }: Crowd, owners: readonly Workload[]): number {
  const [owner] = owners;
  if (clients > 1 || owner === undefined || owners.length > 1) return clients;
  return owner.replicas;
}

/** Returns the workloads of the user's service account, the largest first. */
function ownersOf(user: string, workloads: readonly Workload[]): readonly Workload[] {
  const account = accountOf(user);
  return workloads
    .filter(
      (one) =>
        one.namespace === account?.namespace &&
        one.serviceAccount === account.name &&
        one.replicas > 0,
    )
    .toSorted((a, b) => b.replicas - a.replicas);
}

function accountOf(
  user: string,
): { readonly namespace: string; readonly name: string } | undefined {
  const [system, kind, namespace, name, ...more] = user.split(":");
  if (system !== "system" || kind !== "serviceaccount" || more.length > 0) return undefined;
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

function meanListBytes(evidence: Evidence, { group, resource }: Crowd): number | undefined {
  const of = (part: string): number => {
    const grown = growth(evidence, `${sizes}_${part}`, [], ({ labels }) => {
      const isOf = labels.get("resource") === resource && (labels.get("group") ?? "") === group;
      return isOf && labels.get("verb") === "LIST";
    });
    return grown.get("") ?? 0;
  };
  const count = of("count");
  return count > 0 ? of("sum") / count : undefined;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
