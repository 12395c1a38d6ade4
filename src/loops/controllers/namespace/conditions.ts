/** The five conditions of a namespace being deleted. Types, reasons and texts are upstream's. Pure. */
import type { NamespaceCondition } from "#api/gen/types.ts";
import { withCondition } from "#client/conditions.ts";

/** The contents that remain in a namespace after one pass. */
export interface Remains {
  /** By `resource.group`, `pods.` for the core group. */
  readonly counts: ReadonlyMap<string, number>;
  /** Number of objects by finalizer, over all kinds. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Errors of deletes and lists. */
  readonly failures: readonly string[];
  /** Group-versions whose resources could not be read. */
  readonly unread: readonly string[];
}

/** Whether everything was read, and nothing was found or failed. */
export function isNothingLeft({ counts, failures, unread }: Remains): boolean {
  return counts.size + failures.length + unread.length === 0;
}

/** The same array when no condition changes. */
export function namespaceConditions(
  old: readonly NamespaceCondition[],
  remains: Remains,
  now: string,
): readonly NamespaceCondition[] {
  return allConditions(remains).reduce(
    (all, condition) => withCondition(all, { ...condition, lastTransitionTime: now }),
    old,
  );
}

type Said = Pick<NamespaceCondition, "type" | "status" | "reason" | "message">;

function allConditions(remains: Remains): readonly Said[] {
  return [
    discoveryCondition(remains),
    good(
      "NamespaceDeletionGroupVersionParsingFailure",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ),
    deletionCondition(remains),
    contentCondition(remains),
    finalizerCondition(remains),
  ];
}

function discoveryCondition({ unread }: Remains): Said {
  const type = "NamespaceDeletionDiscoveryFailure";
  if (unread.length === 0)
    return good(type, "ResourcesDiscovered", "All resources successfully discovered");
  const stale = unread.map((group) => `${group}: stale GroupVersion discovery: ${group}`);
  const all = `unable to retrieve the complete list of server APIs: ${stale.toSorted().join(", ")}`;
  const failed = `Discovery failed for some groups, ${unread.length} failing: ${all}`;
  return bad(type, "DiscoveryFailed", failed);
}

function deletionCondition({ failures }: Remains): Said {
  const type = "NamespaceDeletionContentFailure";
  const deleted = "All content successfully deleted, may be waiting on finalization";
  if (failures.length === 0) return good(type, "ContentDeleted", deleted);
  const undeleted = `${failures.length} remaining: ${failures.toSorted().join(", ")}`;
  const message = `Failed to delete all resource types, ${undeleted}`;
  return bad(type, "ContentDeletionFailed", message);
}

function contentCondition({ counts }: Remains): Said {
  const type = "NamespaceContentRemaining";
  if (counts.size === 0) return good(type, "ContentRemoved", "All content successfully removed");
  const left = joinList(counts, (kind, count) => `${kind} has ${count} resource instances`);
  return bad(type, "SomeResourcesRemain", `Some resources are remaining: ${left}`);
}

function finalizerCondition({ finalizers }: Remains): Said {
  const type = "NamespaceFinalizersRemaining";
  const finished = "All content-preserving finalizers finished";
  if (finalizers.size === 0) return good(type, "ContentHasNoFinalizers", finished);
  const held = joinList(finalizers, (name, count) => `${name} in ${count} resource instances`);
  const message = `Some content in the namespace has finalizers remaining: ${held}`;
  return bad(type, "SomeFinalizersRemain", message);
}

function bad(type: string, reason: string, message: string): Said {
  return { type, status: "True", reason, message };
}

function good(type: string, reason: string, message: string): Said {
  return { type, status: "False", reason, message };
}

function joinList(
  counts: ReadonlyMap<string, number>,
  text: (key: string, count: number) => string,
): string {
  return [...counts]
    .map(([key, count]) => text(key, count))
    .toSorted()
    .join(", ");
}
