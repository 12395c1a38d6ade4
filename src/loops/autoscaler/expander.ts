/** Which of several groups grows: upstream's expanders, each of which narrows what the one before left. */
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
  /** Of a core and an hour, and a byte and an hour, where they are cheapest. */
  readonly unit: UnitPrice | undefined;
}

interface UnitPrice {
  readonly cpu: number;
  readonly memory: number;
}

/** The last word is a random number's. */
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

/** The unused shares of cores and memory, added. */
function waste({ template, estimate: { nodes, cpu, memory } }: Choice): number {
  const share = (used: number, each: number): number =>
    each === 0 ? 0 : 1 - used / (each * nodes);
  return share(cpu, template.cpu) + share(memory, template.memory);
}

/** The price of the nodes beside the least that the Pods could cost; groups without a price come last. */
function relativePrice({ group, estimate }: Choice, unit: UnitPrice | undefined): number {
  const { price } = group;
  if (price === undefined || unit === undefined) return Number.MAX_VALUE;
  const least = estimate.cpu * unit.cpu + estimate.memory * unit.memory;
  return (price * estimate.nodes) / Math.max(least, Number.MIN_VALUE);
}

/** Halves of each price go to cores and to memory. */
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

/** Those of the highest priority that any of them has; without one all are left, as upstream. */
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
