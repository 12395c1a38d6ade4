/**
 * Hollow nodes of node groups: those that come up are registered, the Node objects of those that are deleted go.
 * What is there when the process starts is taken over by its label.
 *
 * Holds  a node of a group is in the roster while its instance runs. A Node object that somebody else deletes takes
 *        its instance with it.
 */
import type { Node } from "#api/gen/types.ts";
import { isNotFound } from "#client/api-errors.ts";
import { retryTransient } from "#client/retry.ts";
import { runReflector } from "#client/reflector.ts";
import type { ReflectorSink } from "#client/reflector.ts";
import type { WatchedEvent } from "#client/client.ts";
import { runWorkers } from "#client/run-workers.ts";
import { WorkQueue } from "#client/workqueue.ts";
import type { Timer } from "#platform/clock.ts";
import { given } from "#base/given.ts";
import type { NodeRoster } from "./hollow.ts";
import { HollowNode, nodeDefaults } from "./hollow-node.ts";
import type { NodeGroupSpec } from "./node-group-spec.ts";
import { type GroupAnswer, type GroupInstance, NodeGroups } from "./node-groups.ts";
import { nodeObject } from "./node-object.ts";
import type { HollowDeps } from "./nodes.ts";
import type { HollowOptions } from "./options.ts";

const groupLabel = "pilothouse.dev/node-group";
const zoneLabel = "topology.kubernetes.io/zone";
const nodesRef = { group: "", version: "v1", resource: "nodes" } as const;
const deletesInFlightMax = 16;
const listTries = { triesMax: 20, firstMs: 200, mostMs: 5_000 };
const retry = { retryFirstMs: 200, retryMostMs: 10_000 };
const ownShape: ReadonlySet<string> = new Set(["cpu", "memory", "ephemeral-storage", "pods"]);

type NodeDefaults = ReturnType<typeof nodeDefaults>;

export class GroupNodes implements ReflectorSink<Node> {
  readonly groups: NodeGroups;
  readonly #deps: HollowDeps;
  readonly #options: HollowOptions;
  readonly #roster: NodeRoster;
  /** By group and zone: defaults that the nodes share. */
  readonly #defaults = new Map<string, NodeDefaults>();
  readonly #deletes: WorkQueue;
  #timer: Timer | undefined;
  /** Names of the Node objects of groups. */
  #seen = new Set<string>();
  #hasBegun = false;

  constructor(
    deps: HollowDeps,
    { groups, options, roster }: { groups: NodeGroups; options: HollowOptions; roster: NodeRoster },
  ) {
    this.#deps = deps;
    this.groups = groups;
    this.#options = options;
    this.#roster = roster;
    this.#deletes = new WorkQueue(deps, { name: "hollow.nodes", ...retry });
  }

  async run(signal: AbortSignal): Promise<void> {
    const selection = { ref: nodesRef, labelSelector: groupLabel };
    const remove = (name: string): Promise<void> => this.#deleteNode(name);
    await Promise.all([
      runWorkers(this.#deletes, deletesInFlightMax, remove, signal),
      runReflector<Node>(this.#deps, selection, this, signal),
    ]);
    this.#timer?.cancel();
  }

  /** Adopts existing nodes. Must be awaited before hollow nodes run, because those see their pods only once. */
  async begin(signal: AbortSignal): Promise<void> {
    const { client } = this.#deps;
    const call = { labelSelector: groupLabel, signal };
    const list = () => client.list<Node>(nodesRef, call);
    const { items } = await retryTransient(this.#deps, listTries, signal, list);
    for (const node of items) this.#adopt(node);
    this.#hasBegun = true;
    this.groups.begin(this.#deps.clock.nowMs());
    this.#look();
  }

  replace(items: readonly Node[]): void {
    const names = new Set(items.map(({ metadata }) => metadata?.name ?? ""));
    for (const spec of this.groups.specs()) {
      for (const { name, state } of this.groups.instances(spec.name) ?? []) {
        const isKnown = this.#seen.has(name) && !names.has(name);
        if (state === "running" && isKnown) this.#gone(name);
      }
    }
    this.#seen = names;
  }

  apply(events: readonly WatchedEvent<Node>[]): void {
    for (const { type, object } of events) {
      const name = object.metadata?.name ?? "";
      if (type === "DELETED") {
        this.#seen.delete(name);
        this.#gone(name);
      } else if (type !== "BOOKMARK") this.#seen.add(name);
    }
  }

  /** Starts the nodes of the instances that are due. */
  #look(): void {
    if (!this.#hasBegun) return;
    const { clock } = this.#deps;
    for (const instance of this.groups.step(clock.nowMs())) {
      this.#roster.add(this.#nodeOf(instance));
    }
    this.#timer?.cancel();
    this.#timer = clock.after("hollow.step", this.groups.nextStepMs(clock.nowMs()), () =>
      this.#look(),
    );
  }

  increase(group: string, delta: number): GroupAnswer {
    const answer = this.groups.increase(group, delta, this.#deps.clock.nowMs());
    if (answer.kind === "ok") this.#look();
    return answer;
  }

  deleteNodes(group: string, names: readonly string[]): GroupAnswer {
    const answer = this.groups.deleteNodes(group, names);
    if (answer.kind !== "ok") return answer;
    for (const name of names) {
      this.#roster.delete(name);
      this.#deletes.add(name);
    }
    return answer;
  }

  /** Returns a node as the group's nodes will register. */
  template(spec: NodeGroupSpec): Node {
    const { name, index } = { name: `${spec.name}-template`, index: 0 };
    const facts = { name, index, address: "10.0.0.1", podCidr: "10.128.0.0/24" };
    const { options } = this.#defaultsOf(spec, spec.zones[0]);
    return nodeObject(facts, options, this.#deps.clock.nowMs());
  }

  #adopt(object: Node): void {
    const { name = "", labels = {} } = object.metadata ?? {};
    const index = Number(/-(\d{1,8})$/.exec(name)?.[1] ?? Number.NaN);
    if (!Number.isSafeInteger(index)) return;
    if (!this.groups.adopt(name, labels[groupLabel] ?? "", index)) {
      this.#deps.log.warn("a node of a node group is not taken over", { node: name });
      return;
    }
    const spec = this.groups.groupOf(name);
    if (spec === undefined) return;
    const node = new HollowNode(index, ...this.#made(spec, labels[zoneLabel]));
    this.#roster.add(node);
  }

  #gone(name: string): void {
    if (this.groups.groupOf(name) === undefined) return;
    this.groups.nodeGone(name);
    this.#roster.delete(name);
  }

  #nodeOf({ group, index, zone }: GroupInstance): HollowNode {
    return new HollowNode(index, ...this.#made(group, zone));
  }

  #made(spec: NodeGroupSpec, zone: string | undefined): [HollowOptions, NodeDefaults] {
    const defaults = this.#defaultsOf(spec, zone);
    return [defaults.options, defaults];
  }

  #defaultsOf(spec: NodeGroupSpec, zone: string | undefined): NodeDefaults {
    const key = `${spec.name}\n${zone ?? ""}`;
    const known = this.#defaults.get(key);
    if (known !== undefined) return known;
    const made = nodeDefaults(groupOptions(this.#options, spec, zone));
    this.#defaults.set(key, made);
    return made;
  }

  async #deleteNode(name: string): Promise<void> {
    try {
      await this.#deps.client.delete(nodesRef, "", name);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

function groupOptions(
  options: HollowOptions,
  spec: NodeGroupSpec,
  zone: string | undefined,
): HollowOptions {
  const { shape } = spec;
  const more = Object.entries(shape).filter(([name]) => !ownShape.has(name));
  return {
    ...options,
    zones: 1,
    namePrefix: `${spec.name}-`,
    cpu: shape["cpu"] ?? options.cpu,
    memory: shape["memory"] ?? options.memory,
    ephemeralStorage: shape["ephemeral-storage"] ?? options.ephemeralStorage,
    pods: Number(shape["pods"] ?? options.pods),
    resources: Object.fromEntries(more),
    labels: {
      ...options.labels,
      ...spec.labels,
      ...given({ [zoneLabel]: zone }),
      [groupLabel]: spec.name,
    },
    taints: spec.taints,
  };
}
