/**
 * The resources a relay mirrors now: those configured at the start, and custom ones that are added, changed
 * and removed with their definitions.
 *
 *   definition added ──(settle)──► list and watch ──► reads are answered here
 *   definition changed or deleted ──► the mirror and its watches end at once, as upstream does; requests
 *                                     then pass through until the next mirror has its list
 *
 * In     one mirror of customresourcedefinitions, itself a mirrored resource like any other.
 * Holds  a custom resource is mirrored under the definition it is listed under: a new spec can change
 *        what is served for objects that were not written, so no state is carried over. Readiness covers
 *        the resources of the start; later ones pass through until they are listed.
 * Settle a definition is acted upon `definitionSettleMs` after it was seen, because the upstream starts to
 *        serve it with a delay. Bounds `mirrorsMax` mirrors; the rest passes through, and is logged.
 */
import type { CustomResourceDefinition } from "#api/gen/types.ts";
import { type Clock, sleep, type Timer } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { compilePredicate } from "#watch/predicate.ts";
import type { SharedObject } from "#forms/shared-object.ts";
import { type CustomDefinition, customDefinition, chooseVersions } from "./custom-kinds.ts";
import type { RelayLimits } from "../limits.ts";
import { isBuiltin, kindId, type MirroredKind } from "./mirrored-kind.ts";
import type { Mirrored } from "./mirrored.ts";
import type { CustomChoice } from "./resources.ts";

export interface MirrorSetDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Starts a mirror that runs until `signal` aborts; `ended` resolves after that. */
  readonly start: (kind: MirroredKind, signal: AbortSignal) => Started;
  /** Called when the upstream's discovery documents may have changed. */
  readonly changed: () => void;
  /** Called when a mirror is started or ended after the initial ones. */
  readonly turned?: () => void;
}

interface Started {
  readonly mirrored: Mirrored;
  readonly ended: Promise<void>;
}

interface MirrorSetOptions {
  readonly resources: readonly MirroredKind[];
  readonly custom?: CustomChoice;
}

interface Running extends Started {
  readonly ends: AbortController;
  readonly atStart: boolean;
}

interface SeenDefinition {
  readonly revision: number;
  readonly definition: CustomDefinition;
  /** Time at which the definition was first seen with this key. */
  readonly sinceMs: number;
}

const everything = compilePredicate({ namespace: "", namespaced: false });
const pollMs = 20;

export class MirrorSet {
  readonly #deps: MirrorSetDeps;
  readonly #options: MirrorSetOptions;
  readonly #limits: RelayLimits;
  readonly #running = new Map<string, Running>();
  readonly #ending = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #begun: Promise<void>;
  /** By name of the CustomResourceDefinition. */
  #seen: ReadonlyMap<string, SeenDefinition> = new Map();
  /** By `kindId`: selected kinds without a known CustomResourceDefinition. */
  readonly #plain: Map<string, MirroredKind>;
  #complete = false;
  #settling: Timer | undefined;
  /** Resources beyond `mirrorsMax` that have been logged, once each. */
  readonly #tooMany = new Set<string>();

  constructor(deps: MirrorSetDeps, options: MirrorSetOptions, limits: RelayLimits) {
    this.#deps = deps;
    this.#options = options;
    this.#limits = limits;
    this.#plain = new Map(options.resources.map((kind) => [kindId(kind), kind]));
    const { custom } = options;
    for (const kind of options.resources) {
      if (custom === undefined || isBuiltin(kind)) this.#start(kind, true);
    }
    this.#begun = custom === undefined ? this.#beginAll() : this.#begin(custom.definitions);
  }

  get all(): readonly Mirrored[] {
    return [...this.#running.values()].map(({ mirrored }) => mirrored);
  }

  byId(id: string): Mirrored | undefined {
    return this.#running.get(id)?.mirrored;
  }

  /** Mirrors that a relay's readiness waits for. */
  get awaited(): readonly Mirrored[] {
    return [...this.#running.values()]
      .filter(({ atStart }) => atStart)
      .map(({ mirrored }) => mirrored);
  }

  /** Whether every mirror of the initial resources has been started. */
  get complete(): boolean {
    return this.#complete;
  }

  isAwaited(mirrored: Mirrored): boolean {
    return this.#running.get(kindId(mirrored.kind))?.atStart === true;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#settling?.cancel();
    for (const id of this.#running.keys()) this.#end(id);
    await this.#begun;
    await Promise.all(this.#ending);
  }

  #beginAll(): Promise<void> {
    this.#complete = true;
    return Promise.resolve();
  }

  /** Starts the mirrors of custom resources once their definitions are listed, or the upstream has refused to list them. */
  async #begin(definitions: MirroredKind): Promise<void> {
    const { signal } = this.#stopping;
    const { mirror, upstream } = this.#started(definitions);
    const waiting = (): boolean => !mirror.ready && !signal.aborted;
    while (waiting() && !upstream.refused)
      await sleep(this.#deps.clock, "relay.fresh", pollMs, signal);
    if (signal.aborted) return;
    if (mirror.ready) this.#follow(mirror);
    this.#reconcile(0);
    this.#complete = true;
    this.#deps.turned?.();
    if (mirror.ready) return;
    while (waiting())
      await sleep(this.#deps.clock, "relay.fresh", this.#limits.backoffMostMs, signal);
    if (!signal.aborted) this.#follow(mirror);
  }

  #started(kind: MirroredKind): Mirrored {
    return this.#running.get(kindId(kind))?.mirrored ?? this.#start(kind, true);
  }

  #follow(mirror: Mirrored["mirror"]): void {
    const { signal } = this.#stopping;
    const sink = {
      deliver: () => {
        this.#look(mirror);
        return true;
      },
      end: () => {
        // The mirror starts anew only after this callback has returned, so the new watch begins later.
        if (!signal.aborted) this.#deps.clock.after("relay.settle", 0, () => this.#follow(mirror));
      },
    };
    if (signal.aborted) return;
    mirror.cache.watch({ predicate: everything, bookmarks: false, start: "state" }, sink);
    this.#look(mirror);
  }

  /** Reads every current definition; unchanged ones are not parsed again. */
  #look({ cache }: Mirrored["mirror"]): void {
    const before = this.#seen;
    const seen = new Map<string, SeenDefinition>();
    let kept = 0;
    cache.state.scan("", "\xff", (object) => {
      const known = before.get(object.key);
      const now = known?.revision === object.revision ? known : this.#read(object, known);
      if (now.definition.key === known?.definition.key) kept++;
      seen.set(object.key, now);
      return true;
    });
    this.#seen = seen;
    if (!this.#complete || (kept === seen.size && kept === before.size)) return;
    this.#deps.changed();
    this.#reconcile(this.#limits.definitionSettleMs);
  }

  #read(object: SharedObject, known: SeenDefinition | undefined): SeenDefinition {
    // The upstream's API server has validated each definition that it serves.
    const definition = customDefinition(object.object as unknown as CustomResourceDefinition);
    const same = known?.definition.key === definition.key;
    const sinceMs = same ? known.sinceMs : this.#deps.clock.monotonicMs();
    return { revision: object.revision, definition, sinceMs };
  }

  /** Ends mirrors whose definition has changed; starts missing ones whose definition has been known for `settleMs`. */
  #reconcile(settleMs: number): void {
    const wanted = this.#wanted();
    for (const [id, { mirrored }] of this.#running) {
      const kind = wanted.get(id);
      if (kind !== undefined && kind.custom?.key === mirrored.kind.custom?.key) continue;
      this.#deps.log.info("mirror ends", { resource: id });
      this.#end(id);
    }
    const latestMs = this.#deps.clock.monotonicMs() - settleMs;
    const unsettled = [...this.#seen.values()].filter(({ sinceMs }) => sinceMs > latestMs);
    const fresh = new Set(unsettled.map(({ definition }) => definition.key));
    for (const [id, kind] of wanted) {
      if (this.#running.has(id) || fresh.has(kind.custom?.key ?? "")) continue;
      this.#startBounded(id, kind);
    }
    this.#settling?.cancel();
    this.#settling = undefined;
    this.#deps.turned?.();
    if (unsettled.length === 0) return;
    const nextMs = Math.min(...unsettled.map(({ sinceMs }) => sinceMs)) - latestMs;
    this.#settling = this.#deps.clock.after("relay.settle", nextMs, () => {
      this.#deps.changed();
      this.#reconcile(settleMs);
    });
  }

  #wanted(): ReadonlyMap<string, MirroredKind> {
    const { custom } = this.#options;
    const kinds = custom === undefined ? [] : [custom.definitions];
    for (const { definition } of this.#seen.values()) {
      for (const { group, resource } of definition.kinds) this.#dropPlain(group, resource);
      kinds.push(...chooseVersions(definition, custom?.names ?? []));
    }
    kinds.push(...this.#plain.values());
    return new Map(kinds.map((kind) => [kindId(kind), kind]));
  }

  /** Removes plain kinds with a definition: from now on the definition states the served versions, if any. */
  #dropPlain(group: string, resource: string): void {
    for (const [id, kind] of this.#plain) {
      if (kind.group === group && kind.resource === resource) this.#plain.delete(id);
    }
  }

  #startBounded(id: string, kind: MirroredKind): void {
    const { log } = this.#deps;
    const { mirrorsMax } = this.#limits;
    if (this.#running.size < mirrorsMax) {
      log.info("mirror starts", { resource: id });
      this.#start(kind, !this.#complete);
      return;
    }
    if (this.#tooMany.has(id) || this.#tooMany.size >= mirrorsMax) return;
    this.#tooMany.add(id);
    log.warn("too many resources: this one passes through", { resource: id, mirrorsMax });
  }

  #start(kind: MirroredKind, atStart: boolean): Mirrored {
    const ends = new AbortController();
    const started = this.#deps.start(kind, ends.signal);
    this.#running.set(kindId(kind), { ...started, ends, atStart });
    return started.mirrored;
  }

  #end(id: string): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#running.delete(id);
    running.ends.abort();
    running.mirrored.mirror.close();
    const ended = running.ended.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}
