/**
 * Node IPAM: assigns to each node without pod addresses a part of each cluster range, as kube-controller-manager does
 * with --allocate-node-cidrs.
 *
 * Holds  two nodes never get the same range. The ranges of existing nodes are occupied before the first one is
 *        assigned. A range that may have been written is not assigned to another node until its node is deleted.
 * Out    spec.podCIDR and spec.podCIDRs; an event CIDRNotAvailable when a range is used up.
 */
import type { Node } from "#api/gen/types.ts";
import { parseRange, type Range } from "#api/validation/ip.ts";
import type { ControllerOptions, ReconcileRequest } from "#client/create-controller.ts";
import type { ControllerDeps } from "../framework/deps.ts";
import { refs } from "../framework/refs.ts";
import { CidrPool } from "./pool.ts";

export interface NodeIpamOptions {
  /** One, or one of each family. `maskSize` is the prefix length of a node's range. */
  readonly clusterRanges: readonly { readonly range: Range; readonly maskSize: number }[];
  /** Addresses of Services, which pods must not have. */
  readonly serviceRanges: readonly Range[];
}

export class NodeIpamController implements ControllerOptions<Node> {
  readonly name = "node-ipam-controller";
  readonly workers = 30;
  readonly ref = refs.nodes;
  readonly when = { on: ["add", "update"], only: needsRanges } as const;
  readonly #deps: ControllerDeps;
  readonly #pools: readonly CidrPool[];
  /** By node; what was written and is not seen yet, too. */
  readonly #given = new Map<string, readonly string[]>();

  constructor(deps: ControllerDeps, { clusterRanges, serviceRanges }: NodeIpamOptions) {
    this.#deps = deps;
    this.#pools = clusterRanges.map(({ range, maskSize }) => new CidrPool(range, maskSize));
    for (const pool of this.#pools) for (const range of serviceRanges) pool.reserve(range);
    deps.informers.informer<Node>(refs.nodes).addHandler({
      add: (node) => this.#occupy(node),
      update: (_old, node) => this.#occupy(node),
      delete: (node) => this.#release(node),
    });
  }

  async reconcile({ key: name, object: node }: ReconcileRequest<Node>): Promise<void> {
    if (node === undefined || !needsRanges(node)) return;
    const ranges = this.#given.get(name) ?? this.#take(node);
    this.#given.set(name, ranges);
    const patch = { spec: { podCIDR: ranges[0], podCIDRs: ranges } };
    await this.#deps.client.patch(refs.nodes, "", name, "strategic", patch);
  }

  /** All or none. Throws when one of the cluster's ranges is used up: the queue tries again. */
  #take(node: Node): readonly string[] {
    const taken: string[] = [];
    for (const pool of this.#pools) {
      const range = pool.take();
      if (range === undefined) {
        this.#giveBack(taken);
        const { name = "" } = node.metadata ?? {};
        const text = `Node ${name} status is now: CIDRNotAvailable`;
        this.#deps.recorder.event(node, "Normal", "CIDRNotAvailable", text);
        throw new Error(`no range of pod addresses is left for node ${name}`);
      }
      taken.push(range);
    }
    return taken;
  }

  #occupy(node: Node): void {
    const { name = "" } = node.metadata ?? {};
    const has = node.spec?.podCIDRs ?? [];
    if (has.length === 0) return;
    const given = this.#given.get(name) ?? [];
    this.#giveBack(given.filter((text) => !has.includes(text)));
    for (const range of rangesOf(has)) for (const pool of this.#pools) pool.occupy(range);
    this.#given.set(name, has);
  }

  #release(node: Node): void {
    const { name = "" } = node.metadata ?? {};
    this.#giveBack(this.#given.get(name) ?? []);
    this.#given.delete(name);
  }

  #giveBack(texts: readonly string[]): void {
    for (const range of rangesOf(texts)) for (const pool of this.#pools) pool.release(range);
  }
}

function needsRanges({ metadata, spec }: Node): boolean {
  return metadata?.deletionTimestamp === undefined && (spec?.podCIDRs ?? []).length === 0;
}

/** Of a node's texts, those that are ranges. */
function rangesOf(texts: readonly string[]): readonly Range[] {
  return texts.map(parseRange).filter((range) => range !== undefined);
}
