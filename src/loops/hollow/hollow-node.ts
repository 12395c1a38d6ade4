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

/** Values that all nodes of a process share. */
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
  /** Uid of the Node object; "" until the node is registered. */
  uid = "";
  /** resourceVersion of the node's lease; "" until the lease exists. */
  leaseVersion = "";
  /** Number of heartbeats until the next status write without a change. */
  beatsToStatus = 0;
  /** Whether another client deleted the Node object; as with a kubelet, it is not registered again. */
  gone = false;
  /** Failure by the schedule. */
  scheduled: Failure | undefined;
  /** Failure by the annotation of the Node object; takes precedence over the schedule. */
  commanded: Failure | undefined;
  /** Whether the node was silent at its last heartbeat. */
  wasSilent = false;
  /** Uids of pods whose resize waits for room. */
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

  /** Usage by the pods that were admitted and have not ended. */
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

  /** Uses the range that another component assigned, before any pod was seen. */
  useBlock(block: PodBlock): void {
    if (this.#addresses === undefined) this.#block = block;
  }

  /** Reads the fields of the Node object that admission needs. */
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
