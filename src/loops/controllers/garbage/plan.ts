/** Decides about an object, given the state of each of its owners. Pure. */
import type { OwnerReference } from "#api/object.ts";
import type { GraphNode } from "./graph.ts";

/**
 * State of an owner. `solid` and `unseen` (it exists, but no informer has shown it) keep a dependent alive; `absent`
 * and `waiting` (for its dependents, in foreground deletion) do not. As in upstream, an object is left unchanged while
 * one of its owners is `unknown` (its kind is not served, or not yet) or `invalid` (a namespaced owner of a
 * cluster-scoped dependent).
 */
export type Verdict = "solid" | "absent" | "waiting" | "unseen" | "unknown" | "invalid";

export type CollectPlan =
  | { readonly kind: "keep" }
  | { readonly kind: "set-owners"; readonly owners: readonly OwnerReference[] }
  | { readonly kind: "delete"; readonly policy: GraphNode["policy"] };

/** `verdicts` correspond to `node.owners`, in order. */
export function planCollect(node: GraphNode, verdicts: readonly Verdict[]): CollectPlan {
  if (verdicts.includes("unknown") || verdicts.includes("invalid")) return { kind: "keep" };
  const alive = node.owners.filter((_owner, at) => keepsAlive(verdicts[at]));
  if (alive.length === node.owners.length) return { kind: "keep" };
  if (alive.length > 0) return { kind: "set-owners", owners: withoutDead(node.owners, alive) };
  const inForeground = verdicts.includes("waiting") && node.dependents.size > 0;
  if (!inForeground) return { kind: "delete", policy: node.policy };
  if (!isInCircle(node)) return { kind: "delete", policy: "Foreground" };
  return { kind: "set-owners", owners: unblock(node.owners) };
}

/** The verdict on an observed owner. */
export function verdictOfSeen(node: GraphNode, owner: GraphNode): Verdict {
  // A cluster-scoped object with a namespaced owner is an error and never collected because of it.
  if (owner.namespace !== "" && node.namespace === "") return "invalid";
  if (owner.namespace !== "" && owner.namespace !== node.namespace) return "absent";
  return owner.isWaiting ? "waiting" : "solid";
}

/** As upstream, references are removed by uid, including all others with the uid of a dead owner. */
function withoutDead(
  owners: readonly OwnerReference[],
  alive: readonly OwnerReference[],
): readonly OwnerReference[] {
  const dead = new Set(owners.filter((one) => !alive.includes(one)).map(({ uid }) => uid));
  return alive.filter(({ uid }) => !dead.has(uid));
}

function keepsAlive(verdict: Verdict | undefined): boolean {
  return verdict === "solid" || verdict === "unseen";
}

/** Foreground deletions in a cycle would wait for each other, so one object must stop blocking its owners. */
function isInCircle({ owners, dependents }: GraphNode): boolean {
  const blocks = owners.some((owner) => owner.blockOwnerDeletion === true);
  return blocks && [...dependents].some((dependent) => dependent.isWaiting);
}

function unblock(owners: readonly OwnerReference[]): readonly OwnerReference[] {
  return owners.map((owner) => ({ ...owner, blockOwnerDeletion: false }));
}
