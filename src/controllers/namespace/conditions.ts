/** The five conditions of a namespace that is being deleted, pure: types, reasons and texts are upstream's. */
import type { NamespaceCondition } from "#api/gen/types.ts";
import { withCondition } from "../framework/conditions.ts";

/** What is left in a namespace after one pass. */
export interface Remains {
  /** By `resource.group`, `pods.` for the core group. */
  readonly counts: ReadonlyMap<string, number>;
  /** By finalizer, over all kinds. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** What could not be deleted or listed. */
  readonly failures: readonly string[];
  /** Group-versions whose resources could not be read. */
  readonly unread: readonly string[];
}

/** Everything was read, and nothing was found or failed. */
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

function allConditions({ counts, finalizers, failures, unread }: Remains): readonly Said[] {
  const left = joinList(counts, (kind, count) => `${kind} has ${count} resource instances`);
  const held = joinList(finalizers, (name, count) => `${name} in ${count} resource instances`);
  const groups = `${unread.length} failing: ${unread.join(", ")}`;
  const undeleted = `${failures.length} remaining: ${failures.toSorted().join(", ")}`;
  return [
    unread.length > 0
      ? bad(
          "NamespaceDeletionDiscoveryFailure",
          "DiscoveryFailed",
          `Discovery failed for some groups, ${groups}`,
        )
      : good(
          "NamespaceDeletionDiscoveryFailure",
          "ResourcesDiscovered",
          "All resources successfully discovered",
        ),
    good(
      "NamespaceDeletionGroupVersionParsingFailure",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ),
    failures.length > 0
      ? bad(
          "NamespaceDeletionContentFailure",
          "ContentDeletionFailed",
          `Failed to delete all resource types, ${undeleted}`,
        )
      : good(
          "NamespaceDeletionContentFailure",
          "ContentDeleted",
          "All content successfully deleted, may be waiting on finalization",
        ),
    counts.size > 0
      ? bad(
          "NamespaceContentRemaining",
          "SomeResourcesRemain",
          `Some resources are remaining: ${left}`,
        )
      : good("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    finalizers.size > 0
      ? bad(
          "NamespaceFinalizersRemaining",
          "SomeFinalizersRemain",
          `Some content in the namespace has finalizers remaining: ${held}`,
        )
      : good(
          "NamespaceFinalizersRemaining",
          "ContentHasNoFinalizers",
          "All content-preserving finalizers finished",
        ),
  ];
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
