/** Usage of pods by configured rules: kwok's ResourceUsage for one pod, ClusterResourceUsage for many; pure. */
import type { Pod } from "#api/gen/types.ts";

export interface UsageRule {
  /** Namespaces and names of the pods; empty: any. */
  readonly namespaces: readonly string[];
  readonly names: readonly string[];
  /** Names of the containers; empty: all. */
  readonly containers: readonly string[];
  /** CPU in billionths of a core, and memory in billionths of a byte. */
  readonly cpu?: bigint;
  readonly memory?: bigint;
}

/** Returns the amount of the first matching rule that has one. Undefined: there is no such rule. */
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
