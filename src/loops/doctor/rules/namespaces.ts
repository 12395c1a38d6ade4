/** Finds namespaces whose deletion does not end, because of a finalizer or an API group that does not answer. */
import type { SeenObject } from "../evidence.ts";
import { quoted, type Rule, type Verdict } from "../rule.ts";

const stuckMs = 5 * 60_000;

/** Conditions of a namespace that explain why its deletion does not end, the root cause first. */
const causes = [
  "NamespaceDeletionDiscoveryFailure",
  "NamespaceDeletionGroupVersionParsingFailure",
  "NamespaceDeletionContentFailure",
  "NamespaceFinalizersRemaining",
  "NamespaceContentRemaining",
];

export const stuckNamespaces: Rule = {
  id: "stuck-namespace",
  title: "A namespace stays Terminating",
  reads: ["namespaces"],
  threshold: "Terminating for more than 5 minutes",
  source: "EKS and Red Hat guides; the namespace controller retries within a minute",
  judge: ({ nowMs, objects }) =>
    objects.namespaces.flatMap((namespace) => {
      const sinceMs = nowMs - Date.parse(namespace.metadata.deletionTimestamp ?? "");
      return sinceMs > stuckMs ? [verdictOf(namespace, sinceMs)] : [];
    }),
};

function verdictOf(namespace: SeenObject, sinceMs: number): Verdict {
  const { name } = namespace.metadata;
  const conditions = namespace.status?.conditions ?? [];
  const cause = causes
    .map((type) => conditions.find((c) => c.type === type && c.status === "True"))
    .find((found) => found !== undefined);
  const minutes = Math.floor(sinceMs / 60_000);
  const culprit = cause?.message ?? finalizersOf(namespace);
  return {
    sentence: `namespace ${name} is Terminating for ${minutes} minutes`,
    culprit,
    severity: "warn",
    figures: { minutes },
    remedy: remedyOf(name, cause?.type),
    certainty: cause === undefined ? 0.6 : 0.95,
    ...(cause === undefined
      ? { unseen: "the namespace has no condition that names its cause" }
      : {}),
  };
}

function finalizersOf({ metadata, spec }: SeenObject): string {
  const own = Array.isArray(spec?.["finalizers"]) ? (spec["finalizers"] as unknown[]) : [];
  const all = [...(metadata.finalizers ?? []), ...own.map(String)];
  return all.length === 0 ? "unknown" : `finalizers ${all.join(", ")}`;
}

function remedyOf(name: string, cause: string | undefined): string {
  if (cause === "NamespaceDeletionDiscoveryFailure") {
    return "kubectl get apiservices | grep False; then repair that service, or delete its APIService";
  }
  return `kubectl get namespace ${quoted(name)} -o jsonpath='{.status.conditions}'; then run the controller that owns the finalizer`;
}
