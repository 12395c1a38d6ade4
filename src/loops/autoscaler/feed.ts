/** Keeps the cluster up to date with informers, and gathers the other inputs of a plan. */
import type {
  ConfigMap,
  DaemonSet,
  Namespace,
  Node,
  Pod,
  PodDisruptionBudget,
  Service,
} from "#api/gen/types.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import type { InformerSet } from "#client/informer-set.ts";
import type { Informer } from "#client/informer.ts";
import { compilePattern } from "#api/structural/patterns.ts";
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";
import { Volumes } from "#scheduler/volumes.ts";
import { Cluster } from "./cluster.ts";
import type { GroupPattern, Instance, Snapshot } from "./snapshot.ts";

const core = (resource: string): ResourceRef => ({ group: "", version: "v1", resource });
const budgetsRef = { group: "policy", version: "v1", resource: "poddisruptionbudgets" };
const daemonSetsRef = { group: "apps", version: "v1", resource: "daemonsets" };
const prioritiesName = "cluster-autoscaler-priority-expander";
/** Maximum number of lines read from the ConfigMap. */
const linesMax = 500;

interface FeedDeps {
  readonly client: Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly random: Random;
}

export class Feed {
  readonly cluster: Cluster;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #budgets: Informer<PodDisruptionBudget>;
  readonly #daemonSets: Informer<DaemonSet>;
  readonly #priorities: Informer<ConfigMap> | undefined;
  readonly #namespaces: Informer<Namespace>;
  readonly #services: Informer<Service>;
  readonly #volumes: Volumes;
  readonly #namespace: string;

  /** `readsPriorities`: whether to read the priority expander's ConfigMap in `namespace`. */
  constructor(
    deps: FeedDeps,
    options: { readonly namespace: string; readonly readsPriorities: boolean },
  ) {
    const { informers, random } = deps;
    this.#pods = informers.informer<Pod>(core("pods"));
    this.#nodes = informers.informer<Node>(core("nodes"));
    this.#budgets = informers.informer<PodDisruptionBudget>(budgetsRef);
    this.#daemonSets = informers.informer<DaemonSet>(daemonSetsRef);
    this.#namespaces = informers.informer<Namespace>(core("namespaces"));
    this.#services = informers.informer<Service>(core("services"));
    this.#namespace = options.namespace;
    this.#priorities = options.readsPriorities
      ? informers.informer<ConfigMap>(core("configmaps"), {
          namespace: options.namespace,
          fieldSelector: `metadata.name=${prioritiesName}`,
        })
      : undefined;
    this.#volumes = new Volumes({ ...deps, pods: this.#pods });
    this.cluster = new Cluster({
      random,
      namespaces: (name) => this.#namespaces.get("", name)?.metadata?.labels,
      volumes: this.#volumes,
      services: (namespace) => this.#services.list(namespace),
    });
  }

  /** @returns the functions that end the subscriptions. */
  subscribe(): readonly (() => void)[] {
    const { cluster } = this;
    return [
      this.#nodes.addHandler({
        add: (node) => cluster.setNode(node),
        update: (_, node) => cluster.setNode(node),
        delete: ({ metadata }) => cluster.deleteNode(metadata?.name ?? ""),
      }),
      this.#pods.addHandler({
        add: (pod) => cluster.setPod(pod),
        update: (_, pod) => cluster.setPod(pod),
        delete: (pod) => cluster.deletePod(pod),
      }),
      this.#namespaces.addHandler({
        batch: () => cluster.cache.counts.forgetNamespaceSelections(),
      }),
      ...this.#volumes.subscribe(() => undefined),
    ];
  }

  get synced(): readonly Promise<void>[] {
    const all = [this.#pods, this.#nodes, this.#budgets, this.#daemonSets, this.#namespaces];
    const others = [this.#services, ...(this.#priorities === undefined ? [] : [this.#priorities])];
    return [...all, ...others].map(({ synced }) => synced).concat(this.#volumes.synced);
  }

  snapshot(groups: Snapshot["groups"], nowMs: number): Snapshot {
    return {
      nowMs,
      cluster: this.cluster,
      groups,
      budgets: this.#budgets.list(),
      daemonSets: this.#daemonSets.list(),
      priorities: prioritiesOf(this.#priorities?.get(this.#namespace, prioritiesName)),
    };
  }

  /** Returns a node of one of these instances, as a model for further nodes of the group. */
  example(instances: readonly Instance[]): Node | undefined {
    const ids = new Set(instances.map(({ id }) => id));
    for (const node of this.#nodes.values()) if (ids.has(node.spec?.providerID ?? "")) return node;
    return undefined;
  }
}

/** Parses upstream's format: `priorities`, a YAML map of numbers to lists of patterns. Other lines are ignored. */
function prioritiesOf(map: ConfigMap | undefined): Snapshot["priorities"] {
  const priorities = new Map<number, GroupPattern[]>();
  let patterns: GroupPattern[] = [];
  const lines = (map?.data?.["priorities"] ?? "").split("\n").slice(0, linesMax);
  for (const line of lines) {
    const [, number] = /^\s*(\d{1,9}):\s*$/.exec(line) ?? [];
    const [, pattern] = /^\s*-\s*["']?(.+?)["']?\s*$/.exec(line) ?? [];
    if (number !== undefined) {
      patterns = [];
      priorities.set(Number(number), patterns);
    } else if (pattern !== undefined) patterns.push(...compiled(pattern));
  }
  return priorities;
}

/** Compiles a pattern in Go's syntax, as upstream reads it. No such pattern can block the loop. */
function compiled(source: string): readonly GroupPattern[] {
  const { pattern } = compilePattern(source);
  if (pattern === undefined) return [];
  return [{ test: (id) => pattern.matcher(id).find() }];
}
