/**
 * Plays the stages of one kind: each object that matches a stage waits for the stage's delay, then its steps are
 * written. What the writes change is seen by the watch and matched again.
 *
 * Holds  an object waits for at most one stage; a newer version of it is matched anew. One write per object at a time,
 *        `writesInFlightMax` in all.
 * Bounds an object is played `loopBurst` times at once, then once per `loopRefillMs`: a stage that matches what it has
 *        written does not hold the API server.
 * Cost   some hundred bytes per object that was played or waits; the object itself is kept while it waits `keptMs` at most,
 *        and otherwise read anew.
 */
import type { AnyObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import { isNotFound, isTransient } from "#client/api-errors.ts";
import type { ListCall, ResourceRef, WatchedEvent } from "#client/client.ts";
import { createEventRecorder, type EventRecorder } from "#client/events.ts";
import type { ReflectorDeps, ReflectorSink } from "#client/reflector.ts";
import type { ReconcileResult } from "#client/run-workers.ts";
import { runWorkers } from "#client/run-workers.ts";
import { WorkQueue } from "#client/workqueue.ts";
import { chooseStage, delayWithin } from "./choice.ts";
import type { KindTable } from "./kind-table.ts";
import type { Stage, StageTarget } from "./stage.ts";
import { TemplateError } from "./template/budget.ts";
import type { StageFacts } from "./template/functions.ts";
import { playStep, type WriterDeps } from "./writer.ts";

export interface PlayerDeps extends ReflectorDeps {
  readonly kinds: KindTable;
  readonly clientAs?: NonNullable<WriterDeps["clientAs"]>;
}

interface PlayerOptions {
  readonly target: StageTarget;
  readonly ref: ResourceRef;
  /** Selects the objects that are listed when the stages change. */
  readonly selection: Pick<ListCall, "labelSelector" | "fieldSelector">;
  readonly stages: () => readonly Stage[];
  /** Whether the player handles the object; it ignores others. */
  readonly isManaged: (object: AnyObject) => boolean;
  readonly factsOf: (object: AnyObject) => StageFacts;
  readonly writesInFlightMax: number;
}

interface Waiting {
  readonly namespace: string;
  readonly name: string;
  version: string;
  /** Undefined: the object is read again when the stage is due. */
  object: AnyObject | undefined;
  /** Undefined: no stage matches. */
  stage: Stage | undefined;
  /** Time on the monotonic clock when the stage is due. */
  dueMs: number;
  /** Index of the next step; the steps before it are done. */
  step: number;
  /** Increased each time the object is matched again, so that work in progress for an older version can be recognized. */
  plan: number;
  plays: number;
  playsMs: number;
}

const keptMs = 2_000;
const loopBurst = 20;
const loopRefillMs = 1_000;
const retry = { retryFirstMs: 1_000, retryMostMs: 60_000 };

export class StagePlayer implements ReflectorSink<AnyObject> {
  readonly #deps: PlayerDeps;
  readonly #options: PlayerOptions;
  readonly #objects = new Map<string, Waiting>();
  readonly #queue: WorkQueue;
  readonly #events: EventRecorder;
  /** Number of stages played to their end. */
  played = 0;
  /** Number of times that an object had to wait because it was played too often. */
  held = 0;

  constructor(deps: PlayerDeps, options: PlayerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#queue = new WorkQueue(deps, { name: `stages.${options.ref.resource}`, ...retry });
    this.#events = createEventRecorder(deps, { component: "kwok", limitPerObject: false });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { writesInFlightMax } = this.#options;
    await runWorkers(this.#queue, writesInFlightMax, (key) => this.#reconcile(key), signal);
    await this.#events.close();
  }

  /** Call it after the stages changed: matches every object again. */
  async refresh(): Promise<void> {
    const { ref, selection } = this.#options;
    const { items } = await this.#deps.client.list<AnyObject>(ref, selection);
    for (const waiting of this.#objects.values()) waiting.version = "";
    this.replace(items);
  }

  replace(items: readonly AnyObject[]): void {
    const listed = new Set(items.map(keyOf));
    for (const key of this.#objects.keys()) if (!listed.has(key)) this.#objects.delete(key);
    for (const item of items) this.#seen(item);
  }

  apply(events: readonly WatchedEvent<AnyObject>[]): void {
    for (const { type, object } of events) {
      if (type === "DELETED") this.#objects.delete(keyOf(object));
      else if (type !== "BOOKMARK") this.#seen(object);
    }
  }

  #seen(object: AnyObject): void {
    if (this.#options.stages().length === 0) return;
    const key = keyOf(object);
    if (!this.#options.isManaged(object)) return void this.#objects.delete(key);
    const { namespace = "", name = "", resourceVersion: version = "" } = object.metadata ?? {};
    const known = this.#objects.get(key);
    if (known?.version === version && version !== "") return;
    const nowMs = this.#deps.clock.monotonicMs();
    const fresh = { namespace, name, object, stage: undefined, dueMs: 0, step: 0, plan: 0 };
    const waiting: Waiting = known ?? { ...fresh, version, plays: 0, playsMs: nowMs };
    waiting.version = version;
    this.#objects.set(key, waiting);
    this.#plan(key, waiting, object);
  }

  #plan(key: string, waiting: Waiting, object: AnyObject): void {
    const { clock, random } = this.#deps;
    const { kind, apiVersion } = this.#options.target;
    const seen = { apiVersion, kind, ...object };
    const stage = chooseStage(this.#options.stages(), seen, random);
    waiting.stage = stage;
    waiting.step = 0;
    waiting.plan++;
    waiting.object = undefined;
    if (stage === undefined) return this.#rest(key, waiting);
    const delayMs = delayWithin(stage.delayOf(seen, clock.nowMs()), random);
    const heldMs = Math.max(delayMs, this.#loopMs(waiting, stage));
    if (heldMs <= keptMs) waiting.object = object;
    waiting.dueMs = clock.monotonicMs() + heldMs;
    this.#queue.addAfter(key, heldMs);
  }

  /** Keeps the count of recent plays until the burst allowance is complete again. */
  #rest(key: string, waiting: Waiting): void {
    this.#refill(waiting);
    if (waiting.plays === 0) this.#objects.delete(key);
  }

  #refill(waiting: Waiting): void {
    const nowMs = this.#deps.clock.monotonicMs();
    const refilled = Math.floor((nowMs - waiting.playsMs) / loopRefillMs);
    waiting.plays = Math.max(0, waiting.plays - refilled);
    waiting.playsMs = waiting.plays === 0 ? nowMs : waiting.playsMs + refilled * loopRefillMs;
  }

  /** @returns the minimum wait of an object that was played too often; 0 for others. */
  #loopMs(waiting: Waiting, stage: Stage): number {
    this.#refill(waiting);
    if (waiting.plays < loopBurst) return 0;
    if (this.held++ === 0) {
      const { namespace, name } = waiting;
      const text =
        "a stage matches what it writes: it is played once a second per object from here on";
      this.#deps.log.warn(text, { stage: stage.name, namespace, name });
    }
    return loopRefillMs;
  }

  async #reconcile(key: string): Promise<ReconcileResult> {
    const waiting = this.#objects.get(key);
    const stage = waiting?.stage;
    if (waiting === undefined || stage === undefined) return;
    const leftMs = waiting.dueMs - this.#deps.clock.monotonicMs();
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    const { plan } = waiting;
    const object = waiting.object ?? (await this.#read(key, waiting));
    if (object === undefined || waiting.plan !== plan) return;
    waiting.object = object;
    const written = await this.#play(waiting, stage, object);
    // Meanwhile the watch may have delivered a newer version, which was matched again.
    if (waiting.plan !== plan) return;
    waiting.stage = undefined;
    waiting.object = undefined;
    if (stage.isImmediate && written !== undefined) return this.#seen(written);
    this.#rest(key, waiting);
  }

  /** Undefined: the object is gone, or has another version, which is matched again. */
  async #read(key: string, waiting: Waiting): Promise<AnyObject | undefined> {
    const { namespace, name } = waiting;
    try {
      const { ref } = this.#options;
      const object = await this.#deps.client.get<AnyObject>(ref, namespace, name);
      if (object.metadata?.resourceVersion === waiting.version) return object;
      this.#seen(object);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      this.#objects.delete(key);
    }
    return undefined;
  }

  /** @returns the object as last written. A refusal ends the stage; if the server is unreachable, the stage is retried. */
  async #play(waiting: Waiting, stage: Stage, object: AnyObject): Promise<AnyObject | undefined> {
    const { target, ref, factsOf } = this.#options;
    const subject = { object, target, ref, facts: factsOf(object) };
    let written: AnyObject | undefined;
    const { plan, step: from } = waiting;
    waiting.plays++;
    let isDeleted = false;
    for (let at = from; at < stage.steps.length; at++) {
      const step = stage.steps[at];
      if (step === undefined || (isDeleted && step.kind !== "event")) continue;
      isDeleted ||= step.kind === "delete";
      if (waiting.plan === plan) waiting.step = at;
      try {
        const deps = { ...this.#deps, events: this.#events };
        written = (await playStep(deps, subject, step)) ?? written;
      } catch (error) {
        if (isTransient(error) || !isFault(error)) throw error;
        this.#failed(waiting, stage, error);
        return undefined;
      }
    }
    this.played++;
    return written;
  }

  #failed({ namespace, name }: Waiting, stage: Stage, error: Error): void {
    const fields = { stage: stage.name, namespace, name, error: error.message };
    if (isNotFound(error)) this.#deps.log.debug("a stage's object is gone", fields);
    else this.#deps.log.warn("a stage was not played", fields);
  }
}

function isFault(error: unknown): error is Error {
  return error instanceof ApiError || error instanceof TemplateError;
}

function keyOf({ metadata }: AnyObject): string {
  return `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
}
