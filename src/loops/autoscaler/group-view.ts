/**
 * The groups of a provider, read before each loop and checked: what a provider says is not believed further than it makes
 * sense. A group that is not sound is left out, and the log says why; the others go on.
 *
 * Bounds `groupsMax` groups, `instancesMax` instances each, `targetsMax` of all; `callsMax` calls at a time. Templates, prices and options are
 *        asked for again after `factsMs`.
 */
import type { Node } from "#api/gen/types.ts";
import { tryParseQuantity } from "#api/values/quantity.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { NodeGroupProvider, ProviderGroup } from "./provider.ts";
import type { Group, GroupOptions, Instance } from "./snapshot.ts";

const groupsMax = 5_000;
const instancesMax = 50_000;
/** Maximum size of all groups together. Nodes that have not registered yet are simulated one by one. */
const targetsMax = 100_000;
const idCharsMax = 253;
const callsMax = 16;
const factsMs = 300_000;
const printable = /^[\x21-\x7e]+$/;

export interface GroupSelection {
  /** By group id: the selected groups. Undefined: all groups of the provider, with its bounds. */
  readonly named: ReadonlyMap<string, ProviderGroup> | undefined;
  readonly isOwn: (id: string) => boolean;
}

interface Facts {
  readonly readMs: number;
  readonly template: Node | undefined;
  readonly price: number | undefined;
  readonly options: GroupOptions;
}

export class GroupView {
  readonly #deps: {
    readonly provider: NodeGroupProvider;
    readonly clock: Clock;
    readonly log: Log;
  };
  readonly #selection: GroupSelection;
  readonly #options: GroupOptions;
  readonly #facts = new Map<string, Facts>();
  /** By group: the fault that was logged last, so that each fault is logged once. */
  readonly #faults = new Map<string, string>();

  constructor(
    deps: { readonly provider: NodeGroupProvider; readonly clock: Clock; readonly log: Log },
    selection: GroupSelection,
    options: GroupOptions,
  ) {
    this.#deps = deps;
    this.#selection = selection;
    this.#options = options;
  }

  /**
   * Reads the groups. `example`: returns a node of the group by its instances, used if the provider has no template.
   * Rejects if a call to the provider does.
   */
  async read(
    example: (instances: readonly Instance[]) => Node | undefined,
  ): Promise<readonly Group[]> {
    const { provider } = this.#deps;
    await provider.refresh();
    const all = await provider.groups();
    if (all.length > groupsMax) {
      throw new Error(`the provider has ${all.length} node groups, more than ${groupsMax}`);
    }
    const chosen = this.#choose(all);
    const groups: (Group | undefined)[] = chosen.map(() => undefined);
    let next = 0;
    const work = async (): Promise<void> => {
      for (let at = next++; at < chosen.length; at = next++) {
        const one = chosen[at];
        if (one !== undefined) groups[at] = await this.#readGroup(one, example);
      }
    };
    await Promise.all(Array.from({ length: callsMax }, work));
    const ids = new Set(chosen.map(({ id }) => id));
    for (const map of [this.#facts, this.#faults]) {
      for (const id of map.keys()) if (!ids.has(id)) map.delete(id);
    }
    return this.#within(groups.filter((group) => group !== undefined));
  }

  /** Keeps groups in order, as long as the sum of their sizes stays within `targetsMax`. */
  #within(groups: readonly Group[]): readonly Group[] {
    let sum = 0;
    return groups.filter(({ id, target, instances }) => {
      const size = Math.max(target, instances.length);
      if (sum + size > targetsMax) {
        this.#say(id, `with it the groups want more than ${targetsMax} nodes`);
        return false;
      }
      this.#faults.delete(id);
      sum += size;
      return true;
    });
  }

  #choose(all: readonly ProviderGroup[]): readonly ProviderGroup[] {
    const { named } = this.#selection;
    const seen = new Set<string>();
    return all.flatMap((group) => {
      const { id } = group;
      const asked = named === undefined ? group : named.get(id);
      if (asked === undefined) return [];
      const fault = seen.has(id) ? "it is there twice" : faultOf(asked);
      seen.add(id);
      if (fault === undefined) return [asked];
      this.#say(id, fault);
      return [];
    });
  }

  async #readGroup(
    { id, min, max }: ProviderGroup,
    example: (instances: readonly Instance[]) => Node | undefined,
  ): Promise<Group | undefined> {
    const { provider } = this.#deps;
    try {
      const [target, instances] = await Promise.all([
        provider.targetSize(id),
        provider.instances(id),
      ]);
      if (!isCount(target)) throw new Error(`its target size is ${target}`);
      checkInstances(instances);
      const { template, price, options } = await this.#factsOf(id, () => example(instances));
      const isOwn = this.#selection.isOwn(id);
      return { id, min, max, target, instances, template, price, options, isOwn };
    } catch (error) {
      this.#say(id, error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  async #factsOf(id: string, example: () => Node | undefined): Promise<Facts> {
    const { provider, clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    const known = this.#facts.get(id);
    const isFresh = known !== undefined && nowMs - known.readMs < factsMs;
    if (isFresh && known.template !== undefined) return known;
    const template = (await provider.template(id)) ?? example();
    if (template !== undefined) checkTemplate(template);
    const price = template === undefined ? undefined : await provider.price(template);
    const isPrice = price === undefined || (Number.isFinite(price) && price >= 0);
    if (!isPrice) throw new Error(`its price is ${price}`);
    const options = (await provider.options(id, this.#options)) ?? this.#options;
    checkOptions(options);
    const facts = { readMs: nowMs, template, price, options };
    this.#facts.set(id, facts);
    return facts;
  }

  #say(id: string, fault: string): void {
    const group = id.slice(0, idCharsMax);
    if (this.#faults.get(id) === fault || this.#faults.size >= groupsMax) return;
    this.#faults.set(id, fault);
    this.#deps.log.warn("a node group is left out", { group, error: fault });
  }
}

function faultOf({ id, min, max }: ProviderGroup): string | undefined {
  if (id.length > idCharsMax || !printable.test(id)) return "its id is no name";
  if (!isCount(min) || !isCount(max) || min > max) return `its sizes are from ${min} to ${max}`;
  return undefined;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && value <= 2 ** 31;
}

function checkInstances(instances: readonly Instance[]): void {
  if (instances.length > instancesMax) {
    throw new Error(`it has ${instances.length} instances, more than ${instancesMax}`);
  }
  const ids = new Set(instances.map(({ id }) => id));
  if (ids.size < instances.length) throw new Error("two of its instances have one id");
  if (ids.has("")) throw new Error("an instance has no id");
}

/** Rejects options that would allow a removal of nodes before their time. */
function checkOptions(options: GroupOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (typeof value === "boolean" || (Number.isFinite(value) && value >= 0)) continue;
    throw new Error(`its option ${name} is ${value}`);
  }
}

/** Filters read the template's quantities, so they must be valid for an API server. */
function checkTemplate({ status }: Node): void {
  for (const [name, text] of Object.entries(status?.allocatable ?? {})) {
    const quantity = tryParseQuantity(text);
    if (quantity === undefined || quantity.nanos < 0n) {
      throw new Error(
        `its template has ${JSON.stringify(text.slice(0, 64))} of ${name.slice(0, 64)}`,
      );
    }
  }
  if (status?.allocatable === undefined)
    throw new Error("its template has no allocatable resources");
}
