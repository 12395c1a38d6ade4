/**
 * The threads that serve a plane's port, and what the first thread does for them: it orders their writes (`feed`),
 * stores their audit events, adds up their metrics, and replaces one that has ended or stands still.
 *
 *   starting ── listening ─▶ serving ── exit, or no beat for `stallMs` (terminated) ─▶ ended ── restartMs ─▶ starting
 *
 * Holds  a start of which one worker fails fails with that worker's reason, and leaves none.
 *        What a worker acknowledged is durable in this thread's store before: its end loses none of it, and ends its own
 *        connections alone.
 */
import { Worker } from "node:worker_threads";
import type { Timer } from "#platform/clock.ts";
import { NodeThreadPort } from "#platform/node/thread-port.ts";
import { sumPages } from "#metrics/sum-pages.ts";
import type { Audit } from "#server/audit/trail.ts";
import type { FromReader, ToReader } from "#threads/messages.ts";
import { Progress, sharedProgress } from "#threads/progress.ts";
import { ReaderFeed } from "#threads/reader-feed.ts";
import type { Host } from "../../shared/host.ts";
import * as limits from "../../shared/limits.ts";
import { storeEvents } from "./audit-desk.ts";
import { isCommonMetric } from "./common-metrics.ts";
import type { FromWorker, SharedOptions, ToWorker, WorkerStart } from "./messages.ts";
import type { WorkersPlan } from "./plan.ts";

const beatMs = 250;
/** Pause before a restart, so that a worker that fails at its start is not restarted in a tight loop. */
const restartMs = 1_000;
/** Time without a beat after which a worker counts as stalled. It exceeds any turn of a live loop on a slow, busy machine. */
const stallMs = 20_000;
/** Maximum time from the thread's start to its first beat, in which it loads the code and the state. */
const startMs = 120_000;
/** Maximum wait for a worker's metrics. A worker that does not answer is missing from the page. */
const metricsMs = 2_000;

/** The data that a worker gets from the first thread. */
interface Served {
  readonly options: SharedOptions;
  readonly sinks: Audit | undefined;
  readonly seatHolders: number;
  /** Returns the metrics of this thread. */
  readonly metrics: () => string;
}

interface Slot {
  readonly index: number;
  worker: Worker | undefined;
  /** Removes the worker from the feed. */
  remove: () => void;
  beat: { count: number; seenMs: number; isServing: boolean };
}

export class ServingPool {
  readonly feed: ReaderFeed;
  readonly #host: Host;
  readonly #plan: WorkersPlan;
  readonly #progress: Progress;
  readonly #memory: SharedArrayBuffer;
  readonly #slots: readonly Slot[];
  readonly #waiting = new Map<number, (text: string) => void>();
  readonly #timers = new Set<Timer>();
  #served: Served | undefined;
  #asked = 0;
  #isStarted = false;
  #isStopping = false;

  constructor(host: Host, plan: WorkersPlan) {
    this.#host = host;
    this.#plan = plan;
    this.#memory = sharedProgress(plan.count);
    this.#progress = new Progress(this.#memory);
    this.feed = new ReaderFeed(this.#progress);
    this.#slots = Array.from({ length: plan.count }, (_, index) => ({
      index,
      worker: undefined,
      remove: () => undefined,
      beat: { count: 0, seenMs: 0, isServing: false },
    }));
  }

  /** Resolves when all workers listen. Rejects with the reason of the first one that fails, after ending all others. */
  async start(served: Served): Promise<void> {
    this.#served = served;
    this.#beat();
    try {
      await Promise.all(this.#slots.map((slot) => this.#launch(slot)));
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Reports that this thread's start is complete, so the workers are ready. */
  started(): void {
    this.#isStarted = true;
    this.#tellAll({ kind: "started" });
  }

  leave(): void {
    this.#tellAll({ kind: "leave" });
  }

  /** Stops the workers. Each one completes its requests, and those that exceed the time of a stop are cut off. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const timer of this.#timers) timer.cancel();
    this.#tellAll({ kind: "stop" });
    await Promise.all(this.#slots.map((slot) => this.#end(slot, 2 * limits.shutdownMs)));
  }

  /** Returns one metrics page of all threads. */
  async page(): Promise<string> {
    const own = this.#served?.metrics() ?? "";
    const theirs = await Promise.all(this.#slots.map((slot) => this.#metricsOf(slot)));
    return sumPages([own, ...theirs], isCommonMetric);
  }

  // ---- one worker

  #launch(slot: Slot): Promise<void> {
    const { options, seatHolders } = this.#known();
    const { audit } = this.#plan;
    const { port1, port2 } = new MessageChannel();
    const { state, remove } = this.feed.add(new NodeThreadPort<ToReader, FromReader>(port1));
    const start: WorkerStart = {
      index: slot.index,
      count: this.#plan.count,
      seatHolders,
      flags: this.#plan.flags,
      options,
      progress: this.#memory,
      state,
      storePort: port2,
      ...(audit !== undefined && { audit }),
    };
    const worker = new Worker(this.#plan.program, { workerData: start, transferList: [port2] });
    slot.worker = worker;
    slot.remove = remove;
    const nowMs = this.#host.clock.monotonicMs();
    slot.beat = { count: this.#progress.beat(slot.index), seenMs: nowMs, isServing: false };
    return new Promise((resolve, reject) => {
      worker.on("message", (message: FromWorker) => {
        if (message.kind === "listening") {
          slot.beat.isServing = true;
          this.#host.log.info("a serving thread listens", { worker: slot.index });
          resolve();
        } else if (message.kind === "failed") reject(startFailure(message));
        else this.#hear(worker, message);
      });
      worker.on("error", (error: Error) => {
        this.#host.log.error("a serving thread failed", {
          worker: slot.index,
          error: error.message,
        });
        reject(error);
      });
      worker.on("exit", (code) => {
        this.#exited(slot, worker, code);
        reject(
          new Error(`serving thread ${slot.index} ended with code ${code} before it listened`),
        );
      });
    });
  }

  #hear(worker: Worker, message: FromWorker): void {
    switch (message.kind) {
      case "metrics":
        this.#waiting.get(message.asked)?.(message.text);
        break;
      case "page": {
        const { asked } = message;
        const told = this.page().then((text) => tell(worker, { kind: "page", asked, text }));
        told.catch((error: unknown) => this.#host.log.warn("no metrics", { error: String(error) }));
        break;
      }
      case "events": {
        const { sinks } = this.#known();
        if (sinks !== undefined) storeEvents(sinks, message.events, (reply) => tell(worker, reply));
        break;
      }
      default:
    }
  }

  #exited(slot: Slot, worker: Worker, code: number): void {
    if (slot.worker !== worker) return;
    slot.worker = undefined;
    slot.remove();
    if (this.#isStopping) return;
    this.#host.log.warn("a serving thread ended; another takes its place", {
      worker: slot.index,
      code,
    });
    this.#after("plane.worker", restartMs, () => this.#replace(slot));
  }

  #replace(slot: Slot): void {
    this.#launch(slot).then(
      () => {
        if (this.#isStarted) this.#tell(slot, { kind: "started" });
      },
      // The end of the worker is reported too and starts the next attempt.
      (error: unknown) =>
        this.#host.log.warn("a serving thread does not start", { error: String(error) }),
    );
  }

  /** Checks that each worker's event loop runs, and shows the workers that this thread's loop runs. */
  #beat(): void {
    this.#progress.beatAsWriter();
    const nowMs = this.#host.clock.monotonicMs();
    for (const slot of this.#slots) {
      const count = this.#progress.beat(slot.index);
      if (count !== slot.beat.count) slot.beat = { ...slot.beat, count, seenMs: nowMs };
      const silentMs = nowMs - slot.beat.seenMs;
      const isStuck = silentMs > (slot.beat.isServing ? stallMs : startMs);
      if (slot.worker !== undefined && isStuck) this.#endStuck(slot, slot.worker, silentMs);
    }
    this.#after("plane.beat", beatMs, () => this.#beat());
  }

  #endStuck(slot: Slot, worker: Worker, silentMs: number): void {
    this.#host.log.error("a serving thread stands still and is ended", {
      worker: slot.index,
      seconds: Math.round(silentMs / 1_000),
    });
    slot.beat.seenMs += silentMs;
    worker
      .terminate()
      .catch((error: unknown) =>
        this.#host.log.error("a serving thread does not end", { error: String(error) }),
      );
  }

  async #end(slot: Slot, deadlineMs: number): Promise<void> {
    const { worker } = slot;
    if (worker === undefined) return;
    await new Promise<void>((resolve) => {
      const late = this.#host.clock.after(
        "plane.worker",
        deadlineMs,
        () => void worker.terminate(),
      );
      worker.once("exit", () => {
        late.cancel();
        resolve();
      });
    });
  }

  #metricsOf({ worker }: Slot): Promise<string> {
    if (worker === undefined) return Promise.resolve("");
    const asked = ++this.#asked;
    const { promise, resolve } = Promise.withResolvers<string>();
    const late = this.#host.clock.after("plane.worker", metricsMs, () => resolve(""));
    this.#waiting.set(asked, resolve);
    tell(worker, { kind: "metrics", asked });
    return promise.finally(() => {
      late.cancel();
      this.#waiting.delete(asked);
    });
  }

  #after(name: "plane.beat" | "plane.worker", ms: number, f: () => void): void {
    const timer = this.#host.clock.after(name, ms, () => {
      this.#timers.delete(timer);
      if (!this.#isStopping) f();
    });
    this.#timers.add(timer);
  }

  #tellAll(message: ToWorker): void {
    for (const slot of this.#slots) this.#tell(slot, message);
  }

  #tell({ worker }: Slot, message: ToWorker): void {
    if (worker !== undefined) tell(worker, message);
  }

  #known(): Served {
    if (this.#served === undefined) throw new Error("the pool was not started");
    return this.#served;
  }
}

function tell(worker: Worker, message: ToWorker): void {
  worker.postMessage(message);
}

/** Keeps the error code, by which a role names the flag that fixes the error. */
function startFailure({ message, code }: Extract<FromWorker, { kind: "failed" }>): Error {
  return Object.assign(new Error(message), code === "" ? {} : { code });
}
