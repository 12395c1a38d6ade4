/**
 * New nodes dealt over groups that are alike, the smallest first.
 * After  upstream's processors/nodegroupset: alike are groups of nearly the same capacity whose labels differ only in
 * what tells zones and single nodes apart.
 */
import type { Node } from "#api/gen/types.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import { amountOf } from "#scheduler/amounts.ts";
import type { GroupHealth } from "./group-health.ts";
import type { Template } from "./template.ts";

interface Growing {
  readonly health: GroupHealth;
  readonly template: Template;
  readonly grown: number;
}

const differing: ReadonlySet<string> = new Set([
  "kubernetes.io/hostname",
  "topology.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/region",
  "beta.kubernetes.io/fluentd-ds-ready",
  "kops.k8s.io/instancegroup",
  "pilothouse.dev/node-group",
]);
/** Allowed differences as upstream: `memoryRatio` for memory, `amountRatio` for all other resources. */
const memoryRatio = 0.015;
const amountRatio = 0.05;

export function splitAmongSimilar<G extends Growing>(
  chosen: G,
  nodes: number,
  others: readonly G[],
  mostOf: (one: G) => number,
): ReadonlyMap<G, number> {
  const alike = others.filter((one) => areAlike(chosen.template.node, one.template.node));
  const members = [chosen, ...alike].map((one) => ({ one, most: mostOf(one), count: 0 }));
  const sizeOf = ({ one, count }: (typeof members)[number]): number =>
    one.health.group.target + one.grown + count;
  for (let i = 0; i < nodes; i++) {
    const open = members.filter(({ count, most }) => count < most);
    const [first, ...rest] = open;
    if (first === undefined) break;
    rest.reduce((least, one) => (sizeOf(one) < sizeOf(least) ? one : least), first).count++;
  }
  return new Map(members.filter(({ count }) => count > 0).map(({ one, count }) => [one, count]));
}

function areAlike(a: Node, b: Node): boolean {
  if (!jsonEqual(a.spec?.taints, b.spec?.taints)) return false;
  const [left, right] = [a, b].map(({ metadata }) =>
    Object.entries(metadata?.labels ?? {})
      .filter(([name]) => !differing.has(name))
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
  return jsonEqual(left, right) && haveAlikeAmounts(a.status?.allocatable, b.status?.allocatable);
}

type Amounts = Readonly<Record<string, string>>;

function haveAlikeAmounts(a: Amounts = {}, b: Amounts = {}): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => {
    const [one, other] = [a, b].map((amounts) => amountOf(name, amounts[name] ?? "0")) as [
      number,
      number,
    ];
    const most = Math.max(one, other);
    return Math.abs(one - other) <= most * (name === "memory" ? memoryRatio : amountRatio);
  });
}
