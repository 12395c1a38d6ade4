/**
 * A pool of worker threads, each with one task at a time.
 *
 * Start  a thread is started for the first task that finds none free, and ended when it was idle for
 *        `idleMs`: a plane that never needs one has none.
 * Limits `threadsMax` threads, `waitingMax` tasks in the queue (then `busy`), `taskMs` and
 *        `heapBytesMax` for a task: past them its thread is ended and the task answered `exceeded`.
 */
import { Worker } from "node:worker_threads";
import type { Clock, Timer } from "../clock.ts";
import type { Offload, OffloadResult } from "../offload.ts";

export interface OffloadOptions {
  /** Program of the thread: takes an input per message and answers each with its output. */
  readonly program: URL;
  readonly threadsMax: number;
  readonly waitingMax: number;
  readonly taskMs: number;
  readonly idleMs: number;
  readonly heapBytesMax: number;
}

interface Task<Input, Output> {
  readonly input: Input;
  readonly resolve: (result: OffloadResult<Output>) => void;
  readonly reject: (error: Error) => void;
}

interface Thread<Input, Output> {
  readonly worker: Worker;
  task: Task<Input, Output> | undefined;
  /** Time limit of the task while the thread has one, else of the idle thread. */
  timer: Timer | undefined;
}

export class NodeOffload<Input, Output> implements Offload<Input, Output> {
  readonly #clock: Clock;
  readonly #options: OffloadOptions;
  readonly #threads = new Set<Thread<Input, Output>>();
  readonly #waiting: Task<Input, Output>[] = [];

  constructor(deps: { readonly clock: Clock }, options: OffloadOptions) {
    this.#clock = deps.clock;
    this.#options = options;
  }

  run(input: Input): Promise<OffloadResult<Output>> {
    if (this.#waiting.length >= this.#options.waitingMax) return Promise.resolve({ kind: "busy" });
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject });
      this.#next();
    });
  }

  /** Ends the threads; their tasks resolve to `exceeded`, waiting ones to `busy`. */
  async close(): Promise<void> {
    for (const { resolve } of this.#waiting.splice(0)) resolve({ kind: "busy" });
    await Promise.all([...this.#threads].map((thread) => this.#end(thread)));
  }

  #next(): void {
    if (this.#waiting.length === 0) return;
    const free = [...this.#threads].find(({ task }) => task === undefined);
    const thread = free ?? (this.#threads.size < this.#options.threadsMax ? this.#start() : free);
    if (thread === undefined) return;
    const task = this.#waiting.shift();
    if (task === undefined) return;
    thread.timer?.cancel();
    thread.task = task;
    const { taskMs } = this.#options;
    thread.timer = this.#clock.after("offload.task", taskMs, () => void this.#end(thread));
    thread.worker.ref();
    thread.worker.postMessage(task.input);
  }

  #start(): Thread<Input, Output> {
    const { program, heapBytesMax } = this.#options;
    const resourceLimits = { maxOldGenerationSizeMb: Math.ceil(heapBytesMax / 2 ** 20) };
    const worker = new Worker(program, { resourceLimits });
    const thread: Thread<Input, Output> = { worker, task: undefined, timer: undefined };
    this.#threads.add(thread);
    worker.on("message", (output: Output) => {
      this.#finish(thread, { kind: "done", output });
      thread.timer = this.#clock.after("offload.idle", this.#options.idleMs, () => {
        void this.#end(thread);
      });
      worker.unref();
      this.#next();
    });
    worker.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ERR_WORKER_OUT_OF_MEMORY") this.#finish(thread, { kind: "exceeded" });
      else this.#fail(thread, error);
    });
    worker.on("exit", () => this.#gone(thread));
    return thread;
  }

  async #end(thread: Thread<Input, Output>): Promise<void> {
    this.#finish(thread, { kind: "exceeded" });
    await thread.worker.terminate();
    this.#gone(thread);
  }

  #finish(thread: Thread<Input, Output>, result: OffloadResult<Output>): void {
    thread.timer?.cancel();
    thread.task?.resolve(result);
    thread.task = undefined;
    if (result.kind !== "done") this.#threads.delete(thread);
  }

  #fail(thread: Thread<Input, Output>, error: Error): void {
    thread.task?.reject(error);
    thread.task = undefined;
    this.#finish(thread, { kind: "exceeded" });
  }

  #gone(thread: Thread<Input, Output>): void {
    this.#finish(thread, { kind: "exceeded" });
    this.#next();
  }
}
