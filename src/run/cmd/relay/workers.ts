/**
 * Serving workers of a relay: the owner process holds the upstream and one mirror per resource; each
 * worker is a relay of its own whose upstream is the owner, by a socket that only they can open. The
 * rooms do not know: this is the tree mode within one machine.
 *
 *   clients ──► one port ──► worker 1..N: mirror, crowd ──socket──► owner ──► upstream
 *
 * Each worker listens on the port itself, and the kernel spreads the connections. Connections that the owner
 * would hand over (node:cluster's own way, used only where the kernel cannot spread) stay open with nobody to
 * serve them when the worker dies before it takes them.
 *
 * Holds  a worker that dies is replaced, its clients resume at another by resourceVersion; a worker
 *        whose owner dies ends by itself; the metrics of all are one page, a label names the process.
 */
import cluster, { type Worker } from "node:cluster";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Log } from "#platform/log.ts";
import { mergeMetrics } from "#metrics/merge-pages.ts";

/** Environment variable with the inner socket's path, for a worker. */
const socketVariable = "PILOTHOUSE_RELAY_SOCKET";
/** Environment variable with the port that all workers listen on. */
const portVariable = "PILOTHOUSE_RELAY_PORT";
/** Pause before a restart, so that a worker that fails at its start is not forked in a tight loop. */
const restartMs = 1_000;
/** Maximum wait for a worker's metrics. A worker that does not answer is missing from the page. */
const metricsMs = 2_000;

export interface Address {
  readonly host: string;
  readonly port: number;
}

type FromWorker =
  | { readonly kind: "ready"; readonly address: Address }
  | { readonly kind: "metrics"; readonly asked: number; readonly text: string };

interface ToWorker {
  readonly kind: "metrics";
  readonly asked: number;
}

export interface WorkerPlace {
  /** Path of the owner's socket. */
  readonly socketPath: string;
  /** Port for clients. */
  readonly port: number;
}

/** Returns the owner's settings for this process. Undefined: it is not a worker. */
export function workerPlace(): WorkerPlace | undefined {
  const socketPath = process.env[socketVariable];
  if (!cluster.isWorker || socketPath === undefined) return undefined;
  return { socketPath, port: Number(process.env[portVariable]) };
}

/** Makes a folder of mode 0700, so that only this user's processes reach the socket in it. */
export function makeInnerSocket(): { readonly path: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "pilothouse-relay-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  return { path: join(folder, "owner"), remove };
}

/** Reports this worker's address to the owner, and answers the owner's requests. */
export function reportToOwner(address: Address, metrics: () => string): void {
  const send = (message: FromWorker): void => void process.send?.(message);
  process.on("message", ({ asked }: ToWorker) => send({ kind: "metrics", asked, text: metrics() }));
  send({ kind: "ready", address });
}

/** Calls `stop` when the owner ends. @returns a function that removes the handler. */
export function onOwnerGone(stop: () => void): () => void {
  process.once("disconnect", stop);
  return () => process.off("disconnect", stop);
}

export class Workers {
  readonly #log: Log;
  readonly #env: Readonly<Record<string, string>>;
  readonly #waiting = new Map<number, (text: string) => void>();
  readonly #address = Promise.withResolvers<Address>();
  #ready = 0;
  #asked = 0;
  #stopping = false;

  constructor(deps: { readonly log: Log }, place: WorkerPlace) {
    this.#log = deps.log;
    this.#env = { [socketVariable]: place.socketPath, [portVariable]: String(place.port) };
  }

  /** Resolves when all workers listen, or `signal` aborts. */
  async start(count: number, signal: AbortSignal): Promise<Address | undefined> {
    const enough = Promise.withResolvers<undefined>();
    signal.addEventListener("abort", () => enough.resolve(undefined), { once: true });
    cluster.on("message", (worker, message: FromWorker) => {
      this.#heard(worker, message);
      if (this.#ready >= count) enough.resolve(undefined);
    });
    cluster.on("exit", (worker, code, why) => this.#exited(worker, why ?? `exit code ${code}`));
    for (let made = 0; made < count; made++) cluster.fork(this.#env);
    await enough.promise;
    return signal.aborted ? undefined : this.#address.promise;
  }

  /** Returns one metrics page of all processes. `own`: the owner's page. */
  async metrics(own: string): Promise<string> {
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    const texts = await Promise.all(workers.map((worker) => this.#ask(worker)));
    const pages = workers.map((worker, at) => [`worker-${worker.id}`, texts[at] ?? ""] as const);
    return mergeMetrics("process", [["owner", own], ...pages]);
  }

  /** Lets each worker drain, and ends those that still run after `deadlineMs`. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    const gone = workers.map(
      (worker) => new Promise<void>((resolve) => worker.once("exit", () => resolve())),
    );
    for (const worker of workers) worker.process.kill("SIGTERM");
    const late = setTimeout(() => {
      for (const worker of workers) worker.process.kill("SIGKILL");
    }, deadlineMs);
    await Promise.all(gone);
    clearTimeout(late);
  }

  #heard(worker: Worker, message: FromWorker): void {
    if (message.kind === "metrics") return this.#waiting.get(message.asked)?.(message.text);
    this.#ready++;
    this.#log.info("serving worker listens", { worker: worker.id, pid: worker.process.pid });
    this.#address.resolve(message.address);
  }

  #exited(worker: Worker, why: string): void {
    if (this.#stopping) return;
    this.#log.warn("serving worker ended; another takes its place", { worker: worker.id, why });
    setTimeout(() => {
      if (!this.#stopping) cluster.fork(this.#env);
    }, restartMs);
  }

  #ask(worker: Worker): Promise<string> {
    const asked = ++this.#asked;
    const { promise, resolve } = Promise.withResolvers<string>();
    const late = setTimeout(() => resolve(""), metricsMs);
    this.#waiting.set(asked, resolve);
    worker.send({ kind: "metrics", asked } satisfies ToWorker, () => {});
    return promise.finally(() => {
      clearTimeout(late);
      this.#waiting.delete(asked);
    });
  }
}
