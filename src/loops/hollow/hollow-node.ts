/**
 * What is kept of one hollow node: some hundred bytes, because there may be 50,000 in a process. Of its
 * Node object it keeps what somebody made different from what was registered.
 */
import type { Node, Taint } from "#api/gen/types.ts";
import { tryParseQuantity } from "#api/values/quantity.ts";
import type { PodBlock } from "./addresses.ts";
import { PodAddresses, cidrText, nodeAddress, podBlock } from "./addresses.ts";
import { type Failure, failureAnnotation, parseFailure } from "./failure.ts";
import type { NodeView } from "./admission.ts";
import type { NodeFacts } from "./node-object.ts";
import { nodeCapacity, nodeLabels } from "./node-object.ts";
import { NodeUsage } from "./node-usage.ts";
import type { HollowOptions } from "./options.ts";

/** Of all nodes of a process. */
interface NodeDefaults {
  readonly options: HollowOptions;
  readonly capacity: Texts;
  readonly allocatable: ReadonlyMap<string, bigint>;
}

type Texts = Readonly<Record<string, string>>;

export function nodeDefaults(options: HollowOptions): NodeDefaults {
  const capacity = nodeCapacity(options);
  return { options, capacity, allocatable: amountsOf(capacity) };
}

export class HollowNode implements NodeView {
  readonly index: number;
  readonly name: string;
  /** Of the Node object; "" until registered. */
  uid = "";
  /** resourceVersion of its lease; "" until there is one. */
  leaseVersion = "";
  /** Heartbeats until the next status though nothing changed. */
  beatsToStatus = 0;
  /** The Node object was deleted by someone: like a kubelet, it is not registered again. */
  gone = false;
  /** By the schedule. */
  scheduled: Failure | undefined;
  /** By the annotation of its Node; goes before the schedule. */
  commanded: Failure | undefined;
  /** Nothing was heard of it at its last heartbeat. */
  wasSilent = false;
  /** uids of pods whose resize waits for room. */
  readonly deferred = new Set<string>();
  readonly #defaults: NodeDefaults;
  #block: PodBlock;
  #addresses: PodAddresses | undefined;
  #usage: NodeUsage | undefined;
  #labels: Texts | undefined;
  #allocatable: ReadonlyMap<string, bigint> | undefined;
  taints: readonly Taint[];

  constructor(index: number, options: HollowOptions, defaults: NodeDefaults) {
    this.index = index;
    this.name = `${options.namePrefix}${index}`;
    this.taints = options.taints;
    this.#defaults = defaults;
    this.#block = podBlock(index, options.pods);
  }

  get options(): HollowOptions {
    return this.#defaults.options;
  }

  get failure(): Failure | undefined {
    return this.commanded ?? this.scheduled;
  }

  get facts(): NodeFacts {
    const { name, index } = this;
    return { name, index, address: this.address, podCidr: cidrText(this.#block) };
  }

  get address(): string {
    return this.#defaults.options.kubelet?.address ?? nodeAddress(this.index);
  }

  get addresses(): PodAddresses {
    this.#addresses ??= new PodAddresses(this.#block);
    return this.#addresses;
  }

  /** Of the pods that were admitted and have not ended. */
  get usage(): NodeUsage {
    this.#usage ??= new NodeUsage();
    return this.#usage;
  }

  get labels(): Texts {
    return this.#labels ?? this.#ownLabels();
  }

  get allocatable(): ReadonlyMap<string, bigint> {
    return this.#allocatable ?? this.#defaults.allocatable;
  }

  /** Someone else assigned the range, before any pod was seen. */
  useBlock(block: PodBlock): void {
    if (this.#addresses === undefined) this.#block = block;
  }

  /** Takes what admission asks for from the Node object. */
  seen(object: Node): void {
    const { labels = {}, annotations = {} } = object.metadata ?? {};
    const { [failureAnnotation]: failure } = annotations;
    this.commanded = failure === undefined ? undefined : parseFailure(failure);
    const { taints = [] } = object.spec ?? {};
    const { allocatable } = object.status ?? {};
    this.#labels = isSame(labels, this.#ownLabels()) ? undefined : labels;
    this.taints = taints.length === 0 ? noTaints : taints;
    const isDefault = allocatable === undefined || isSame(allocatable, this.#defaults.capacity);
    this.#allocatable = isDefault ? undefined : amountsOf(allocatable);
  }

  #ownLabels(): Texts {
    return nodeLabels(this.facts, this.#defaults.options);
  }
}

const noTaints: readonly Taint[] = [];

function amountsOf(texts: Texts): ReadonlyMap<string, bigint> {
  const amounts = new Map<string, bigint>();
  for (const [name, text] of Object.entries(texts)) {
    amounts.set(name, tryParseQuantity(text)?.nanos ?? 0n);
  }
  return amounts;
}

function isSame(a: Texts, b: Texts): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
