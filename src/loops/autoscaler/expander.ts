/** Chooses the group that grows. Applies upstream's expanders in turn; each narrows the choices that the previous one left. */
import type { Random } from "#platform/random.ts";
import type { Estimate } from "./estimate.ts";
import type { Expander } from "./options.ts";
import type { Group, GroupPattern } from "./snapshot.ts";
import type { Template } from "./template.ts";

export interface Choice {
  readonly group: Group;
  readonly template: Template;
  readonly estimate: Estimate;
}

interface ExpanderDeps {
  readonly random: Random;
  readonly priorities: ReadonlyMap<number, readonly GroupPattern[]>;
  /** Lowest price of a core per hour, and of a byte per hour. */
  readonly unit: UnitPrice | undefined;
}

interface UnitPrice {
  readonly cpu: number;
  readonly memory: number;
}

/** Chooses at random if several choices remain. */
export function choose(
  expanders: readonly Expander[],
  choices: readonly Choice[],
  deps: ExpanderDeps,
): Choice | undefined {
  let left = choices;
  for (const expander of expanders) if (left.length > 1) left = narrow(expander, left, deps);
  return left.length <= 1 ? left[0] : left[deps.random.below(left.length)];
}

function narrow(
  expander: Expander,
  choices: readonly Choice[],
  deps: ExpanderDeps,
): readonly Choice[] {
  switch (expander) {
    case "random": {
      const one = choices[deps.random.below(choices.length)];
      return one === undefined ? [] : [one];
    }
    case "most-pods":
      return lowest(choices, ({ estimate }) => -estimate.pods);
    case "least-nodes":
      return lowest(choices, ({ estimate }) => estimate.nodes);
    case "least-waste":
      return lowest(choices, waste);
    case "price":
      return lowest(choices, (choice) => relativePrice(choice, deps.unit));
    case "priority":
      return highestPriority(choices, deps.priorities);
    default:
      return expander satisfies never;
  }
}

function lowest(choices: readonly Choice[], value: (choice: Choice) => number): readonly Choice[] {
  const values = choices.map(value);
  const least = Math.min(...values);
  return choices.filter((_, at) => values[at] === least);
}

/** Returns the sum of the unused shares of cores and memory. */
function waste({ template, estimate: { nodes, cpu, memory } }: Choice): number {
  const share = (used: number, each: number): number =>
    each === 0 ? 0 : 1 - used / (each * nodes);
  return share(cpu, template.cpu) + share(memory, template.memory);
}

/** Returns the ratio of the nodes' price to the lowest price that the Pods could have. Groups without a price come last. */
function relativePrice({ group, estimate }: Choice, unit: UnitPrice | undefined): number {
  const { price } = group;
  if (price === undefined || unit === undefined) return Number.MAX_VALUE;
  const least = estimate.cpu * unit.cpu + estimate.memory * unit.memory;
  return (price * estimate.nodes) / Math.max(least, Number.MIN_VALUE);
}

/** Returns the lowest unit prices. Half of each price is attributed to cores, half to memory. */
export function unitPrice(
  offers: readonly { readonly price: number | undefined; readonly template: Template }[],
): UnitPrice | undefined {
  let unit: UnitPrice | undefined;
  for (const { price, template } of offers) {
    if (price === undefined || template.cpu === 0 || template.memory === 0) continue;
    const cpu = price / 2 / template.cpu;
    const memory = price / 2 / template.memory;
    unit = {
      cpu: Math.min(unit?.cpu ?? cpu, cpu),
      memory: Math.min(unit?.memory ?? memory, memory),
    };
  }
  return unit;
}

/** Returns the choices with the highest priority that any of them has. Without a match, returns all of them, as upstream does. */
function highestPriority(
  choices: readonly Choice[],
  priorities: ReadonlyMap<number, readonly GroupPattern[]>,
): readonly Choice[] {
  for (const priority of [...priorities.keys()].toSorted((a, b) => b - a)) {
    const patterns = priorities.get(priority) ?? [];
    const found = choices.filter(({ group }) => patterns.some((p) => p.test(group.id)));
    if (found.length > 0) return found;
  }
  return choices;
}
