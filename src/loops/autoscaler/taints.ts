/** Taints that take nodes out of use, the same as upstream's. */
import type { Node, Taint } from "#api/gen/types.ts";

const deletedKey = "ToBeDeletedByClusterAutoscaler";
const candidateKey = "DeletionCandidateOfClusterAutoscaler";

type Mark = "to-be-deleted" | "deletion-candidate";

const keys: Readonly<Record<Mark, string>> = {
  "to-be-deleted": deletedKey,
  "deletion-candidate": candidateKey,
};

export function isBeingDeleted(node: Node): boolean {
  return hasTaint(node, deletedKey);
}

export function isCandidate(node: Node): boolean {
  return hasTaint(node, candidateKey);
}

/** Adds the taint of the mark. Its value is the time in seconds. */
export function withMark(node: Node, mark: Mark, nowMs: number): readonly Taint[] {
  const key = keys[mark];
  const effect = mark === "to-be-deleted" ? "NoSchedule" : "PreferNoSchedule";
  const value = String(Math.floor(nowMs / 1_000));
  return [...withoutMark(node, mark), { key, value, effect }];
}

export function withoutMark(node: Node, mark: Mark): readonly Taint[] {
  return (node.spec?.taints ?? []).filter(({ key }) => key !== keys[mark]);
}

function hasTaint({ spec }: Node, key: string): boolean {
  return spec?.taints?.some((taint) => taint.key === key) === true;
}
