/**
 * Addresses of hollow nodes and their pods: unique by index, so that processes with other ranges of
 * indexes never give the same one.
 *
 *   nodes     10.0.0.0/10     one address each: 4 million
 *   pods      10.128.0.0/9    a block per node while blocks last, then 11.0.0.0/8
 *
 * 10.96.0.0/12, the usual range of Services, is left free.
 */
import { ipv4Text, parseIpv4 } from "#api/values/ipv4.ts";

const nodeBase = 10 * 2 ** 24;
const podBase = nodeBase + 2 ** 23;
const podBaseMore = 11 * 2 ** 24;
const podBlocksFirst = 2 ** 23;

export interface PodBlock {
  /** The network address as a number. */
  readonly base: number;
  readonly size: number;
}

export function nodeAddress(index: number): string {
  return ipv4Text(nodeBase + 1 + index);
}

/** Returns the node's block of at least 254 pod addresses; more when the node allows more pods. */
export function podBlock(index: number, podsMax: number): PodBlock {
  const size = Math.max(256, 2 ** Math.ceil(Math.log2(podsMax + 2)));
  const offset = index * size;
  if (offset + size <= podBlocksFirst) return { base: podBase + offset, size };
  return { base: podBaseMore + (offset - podBlocksFirst), size };
}

export function cidrText(block: PodBlock): string {
  return `${ipv4Text(block.base)}/${32 - Math.log2(block.size)}`;
}

/** Undefined: the text is not an IPv4 range. */
export function parseCidr(text: string): PodBlock | undefined {
  const match = /^([0-9.]+)\/([0-9]{1,2})$/.exec(text);
  const base = match === null ? undefined : parseIpv4(match[1] ?? "");
  const bits = Number(match?.[2]);
  if (base === undefined || bits > 30) return undefined;
  return { base, size: 2 ** (32 - bits) };
}

/**
 * Pod addresses of one node. Freed addresses are given again last, as a real allocator does, so that
 * a stale endpoint does not meet a new pod at once.
 */
export class PodAddresses {
  readonly #block: PodBlock;
  readonly #used = new Set<number>();
  #next = 0;

  constructor(block: PodBlock) {
    this.#block = block;
  }

  /** Takes a free address. Undefined: the block is full, and the pod must wait. */
  take(): string | undefined {
    const count = this.#block.size - 2; // without network and broadcast address
    if (this.#used.size >= count) return undefined;
    while (this.#used.has(this.#next)) this.#next = (this.#next + 1) % count;
    const offset = this.#next;
    this.#used.add(offset);
    this.#next = (offset + 1) % count;
    return ipv4Text(this.#block.base + 1 + offset);
  }

  /** Marks the address of an existing pod as taken; an address of another block is ignored. */
  adopt(text: string): void {
    const offset = this.#offset(text);
    if (offset !== undefined) this.#used.add(offset);
  }

  free(text: string): void {
    const offset = this.#offset(text);
    if (offset !== undefined) this.#used.delete(offset);
  }

  #offset(text: string): number | undefined {
    const address = parseIpv4(text);
    const offset = address === undefined ? -1 : address - this.#block.base - 1;
    return offset >= 0 && offset < this.#block.size - 2 ? offset : undefined;
  }
}
