/** What is kept of one hollow node: some hundred bytes, because there may be 50,000 in a process. */
import type { PodBlock } from "./addresses.ts";
import { PodAddresses, cidrText, nodeAddress, podBlock } from "./addresses.ts";
import type { NodeFacts } from "./node-object.ts";
import type { HollowOptions } from "./options.ts";

export class HollowNode {
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
  #block: PodBlock;
  #addresses: PodAddresses | undefined;

  constructor(index: number, options: HollowOptions) {
    this.index = index;
    this.name = `${options.namePrefix}${index}`;
    this.#block = podBlock(index, options.pods);
  }

  get facts(): NodeFacts {
    const { name, index } = this;
    return { name, index, address: this.address, podCidr: cidrText(this.#block) };
  }

  get address(): string {
    return nodeAddress(this.index);
  }

  get addresses(): PodAddresses {
    this.#addresses ??= new PodAddresses(this.#block);
    return this.#addresses;
  }

  /** Someone else assigned the range, before any pod was seen. */
  useBlock(block: PodBlock): void {
    if (this.#addresses === undefined) this.#block = block;
  }
}
