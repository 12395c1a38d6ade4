/** Limits of the whole cluster: nodes, cores and memory, including upcoming nodes. */
import type { NodeTable } from "#scheduler/node-table.ts";
import type { AutoscalerOptions } from "./options.ts";
import type { Template } from "./template.ts";

export class Totals {
  readonly #options: AutoscalerOptions;
  #nodes: number;
  #cpu = 0;
  #memory = 0;

  constructor(nodes: NodeTable, options: AutoscalerOptions) {
    this.#options = options;
    this.#nodes = nodes.size;
    for (let i = 0; i < nodes.size; i++) {
      const slot = nodes.live[i] ?? 0;
      this.#cpu += nodes.cpuMax[slot] ?? 0;
      this.#memory += nodes.memoryMax[slot] ?? 0;
    }
  }

  get cores(): number {
    return this.#cpu / 1_000;
  }

  get memoryBytes(): number {
    return this.#memory;
  }

  get nodesLeft(): number {
    const { maxNodesTotal } = this.#options;
    if (maxNodesTotal === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(0, maxNodesTotal - this.#nodes);
  }

  add({ cpu, memory }: Template, count: number): void {
    this.#nodes += count;
    this.#cpu += cpu * count;
    this.#memory += memory * count;
  }

  roomFor({ cpu, memory }: Template): number {
    const { cores, memoryBytes } = this.#options;
    const left = (most: number, used: number, each: number): number =>
      each === 0 ? Number.POSITIVE_INFINITY : Math.floor((most - used) / each);
    return Math.max(
      0,
      Math.min(
        this.nodesLeft,
        left(cores.most * 1_000, this.#cpu, cpu),
        left(memoryBytes.most, this.#memory, memory),
      ),
    );
  }

  /** Subtracts a node if the cluster then stays above the minimum. @returns whether it did. */
  remove(cpu: number, memory: number): boolean {
    const { cores, memoryBytes } = this.#options;
    if (this.#cpu - cpu < cores.least * 1_000) return false;
    if (this.#memory - memory < memoryBytes.least) return false;
    this.#nodes--;
    this.#cpu -= cpu;
    this.#memory -= memory;
    return true;
  }
}
