/** Usage of pods by rules from outside: kwok's ResourceUsage for one pod, ClusterResourceUsage for many; pure. */
import type { Pod } from "#api/gen/types.ts";

export interface UsageRule {
  /** Which pods: by namespace and by name; empty: any. */
  readonly namespaces: readonly string[];
  readonly names: readonly string[];
  /** Empty: all of them. */
  readonly containers: readonly string[];
  /** Billionths of a core, and of a byte. */
  readonly cpu?: bigint;
  readonly memory?: bigint;
}

/** Of the first rule that fits and says it; undefined: none does. */
export function ruledNanos(
  rules: readonly UsageRule[],
  { metadata }: Pod,
  container: string,
  resource: "cpu" | "memory",
): bigint | undefined {
  const { namespace = "", name = "" } = metadata ?? {};
  const fits = (list: readonly string[], text: string): boolean =>
    list.length === 0 || list.includes(text);
  const found = rules.find(
    (rule) =>
      rule[resource] !== undefined &&
      fits(rule.namespaces, namespace) &&
      fits(rule.names, name) &&
      fits(rule.containers, container),
  );
  return found?.[resource];
}
