/**
 * Plays all stages of a process: a player per kind, the stages from files and, if asked for, from the API.
 *
 * Nodes and Pods are seen through the watches of the hollow nodes, which give them to `nodes` and `pods`; every other
 * kind has a watch of its own while it has stages.
 *
 * Bounds kindsMax kinds. A kind that is not served yet is looked for every `lookMs`.
 */
import type { AnyObject, JsonObject, KubeObject } from "#api/object.ts";
import { sleep } from "#platform/clock.ts";
import type { WatchedEvent } from "#client/client.ts";
import { runReflector, type ReflectorSink } from "#client/reflector.ts";
import { type FoundKind, KindTable } from "./kind-table.ts";
import { type PlayerDeps, StagePlayer } from "./player.ts";
import type { Stage, StageTarget } from "./stage.ts";
import { kindKey, StageSet } from "./stage-set.ts";
import type { StageFacts } from "./template/functions.ts";

interface StageHost {
  hasNode(name: string): boolean;
  nodeAddress(name: string): string;
  readonly nodePort: number;
  podAddress(nodeName: string, isHostNetwork: boolean, uid: string): string;
}

interface StageServiceOptions {
  readonly files: readonly Stage[];
  /** Whether Stages from the API are played too, once their kind is served. */
  readonly isServed: boolean;
  readonly host: StageHost;
  readonly version: string;
  readonly writesInFlightMax: number;
  /** Selects the nodes that this service watches. */
  readonly nodeSelector: string;
}

const node: StageTarget = { apiVersion: "v1", kind: "Node" };
const pod: StageTarget = { apiVersion: "v1", kind: "Pod" };
const stagesTarget: StageTarget = { apiVersion: "kwok.x-k8s.io/v1alpha1", kind: "Stage" };
const kindsMax = 32;
const lookMs = 15_000;

export class StageService {
  readonly #deps: Omit<PlayerDeps, "kinds">;
  readonly #options: StageServiceOptions;
  readonly #kinds: KindTable;
  readonly #set: StageSet;
  readonly #players = new Map<string, StagePlayer>();
  readonly #startMs: number;
  readonly #running: Promise<void>[] = [];
  readonly nodes: ReflectorSink<KubeObject>;
  readonly pods: ReflectorSink<KubeObject>;

  constructor(deps: Omit<PlayerDeps, "kinds">, options: StageServiceOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#kinds = new KindTable(deps.client);
    this.#set = new StageSet(options.files);
    this.#startMs = deps.clock.nowMs();
    this.nodes = sinkOf(this.#make(node, coreRef("nodes")));
    this.pods = sinkOf(this.#make(pod, coreRef("pods")));
  }

  /** Whether stages exist for this kind. They take precedence over the built-in behavior of hollow nodes. */
  has(kind: "Node" | "Pod"): boolean {
    return this.#set.of(kind === "Node" ? node : pod).length > 0;
  }

  get metrics() {
    const players = [...this.#players.values()];
    return {
      played: players.reduce((sum, { played }) => sum + played, 0),
      held: players.reduce((sum, { held }) => sum + held, 0),
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    for (const player of this.#players.values()) this.#running.push(player.run(signal));
    this.#set.changed = (kinds) => this.#changed(kinds, signal);
    this.#startKinds(signal);
    if (this.#options.isServed) this.#running.push(this.#follow(signal));
    // Also waits for work that is started during the loop.
    for (let at = 0; at < this.#running.length; at++) await this.#running[at];
  }

  #changed(kinds: ReadonlySet<string>, signal: AbortSignal): void {
    for (const [key, player] of this.#players) {
      if (kinds.has(key)) this.#running.push(this.#refresh(player));
    }
    this.#startKinds(signal);
  }

  async #refresh(player: StagePlayer): Promise<void> {
    try {
      await player.refresh();
    } catch (error) {
      this.#deps.log.warn("objects were not matched anew", { error: String(error) });
    }
  }

  #startKinds(signal: AbortSignal): void {
    for (const target of this.#set.targets()) {
      const key = kindKey(target);
      if (this.#players.has(key) || this.#starting.has(key)) continue;
      if (this.#starting.size >= kindsMax) {
        this.#deps.log.warn("too many kinds have stages", { kind: target.kind, most: kindsMax });
        return;
      }
      this.#starting.add(key);
      this.#running.push(this.#runKind(target, signal));
    }
  }

  readonly #starting = new Set<string>();

  async #runKind(target: StageTarget, signal: AbortSignal): Promise<void> {
    const found = await this.#whenServed(target, signal);
    if (found === undefined) return;
    const player = this.#make(target, found.ref);
    await Promise.all([
      player.run(signal),
      runReflector<AnyObject>(this.#deps, { ref: found.ref }, player, signal),
    ]);
  }

  /** Undefined: the service ended before the kind was served. */
  async #whenServed(target: StageTarget, signal: AbortSignal): Promise<FoundKind | undefined> {
    while (!signal.aborted) {
      try {
        const found = await this.#kinds.find(target);
        if (found !== undefined) return found;
      } catch (error) {
        this.#deps.log.debug("a kind was not found", { ...target, error: String(error) });
      }
      await sleep(this.#deps.clock, "stages.look", lookMs, signal);
    }
    return undefined;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const found = await this.#whenServed(stagesTarget, signal);
    if (found === undefined) return;
    const sink = new ServedStages((objects) => this.#serve(objects));
    await runReflector<AnyObject>(this.#deps, { ref: found.ref }, sink, signal);
  }

  #serve(objects: readonly AnyObject[]): void {
    for (const [stage, problems] of this.#set.serve(objects as unknown as readonly JsonObject[])) {
      this.#deps.log.warn("a Stage has mistakes and is not played", { stage, problems });
    }
  }

  #make(target: StageTarget, ref: FoundKind["ref"]): StagePlayer {
    const { writesInFlightMax, host, nodeSelector } = this.#options;
    const nodeOf = nodeNameReader(target);
    const player = new StagePlayer(
      { ...this.#deps, kinds: this.#kinds },
      {
        target,
        ref,
        selection: selectionOf(target, nodeSelector),
        stages: () => this.#set.of(target),
        isManaged: (object) => nodeOf === undefined || host.hasNode(nodeOf(object)),
        factsOf: (object) => this.#factsOf(nodeOf?.(object) ?? ""),
        writesInFlightMax,
      },
    );
    this.#players.set(kindKey(target), player);
    return player;
  }

  #factsOf(nodeName: string): StageFacts {
    const { host, version } = this.#options;
    return {
      nowMs: this.#deps.clock.nowMs(),
      startMs: this.#startMs,
      version,
      nodeIp: () => host.nodeAddress(nodeName),
      nodeName: () => nodeName,
      nodePort: () => host.nodePort,
      nodeIpWith: (name) => host.nodeAddress(name),
      podIpWith: (name, isHostNetwork, uid) => host.podAddress(name, isHostNetwork, uid),
    };
  }
}

function coreRef(resource: string) {
  return { group: "", version: "v1", resource };
}

/** Undefined: objects of this kind belong to no node. */
function nodeNameReader(target: StageTarget): ((object: AnyObject) => string) | undefined {
  const key = kindKey(target);
  if (key === kindKey(node)) return ({ metadata }) => metadata?.name ?? "";
  if (key !== kindKey(pod)) return undefined;
  return ({ spec }) => (spec as { nodeName?: string } | undefined)?.nodeName ?? "";
}

function selectionOf(target: StageTarget, nodeSelector: string) {
  const key = kindKey(target);
  if (key === kindKey(node)) return { labelSelector: nodeSelector };
  return key === kindKey(pod) ? { fieldSelector: "spec.nodeName!=" } : {};
}

/** Adapts a typed watch to the player, which takes any object. */
function sinkOf(player: StagePlayer): ReflectorSink<KubeObject> {
  return {
    replace: (items) => player.replace(items as readonly AnyObject[]),
    apply: (events) => player.apply(events as readonly WatchedEvent<AnyObject>[]),
  };
}

class ServedStages implements ReflectorSink<AnyObject> {
  readonly #objects = new Map<string, AnyObject>();
  readonly #changed: (objects: readonly AnyObject[]) => void;

  constructor(changed: (objects: readonly AnyObject[]) => void) {
    this.#changed = changed;
  }

  replace(items: readonly AnyObject[]): void {
    this.#objects.clear();
    for (const item of items) this.#objects.set(item.metadata?.name ?? "", item);
    this.#changed(items);
  }

  apply(events: readonly WatchedEvent<AnyObject>[]): void {
    for (const { type, object } of events) {
      const name = object.metadata?.name ?? "";
      if (type === "DELETED") this.#objects.delete(name);
      else if (type !== "BOOKMARK") this.#objects.set(name, object);
    }
    if (events.some(({ type }) => type !== "BOOKMARK")) this.#changed([...this.#objects.values()]);
  }
}
