/** A worker's end of the connection to the first thread. */
import { parentPort } from "node:worker_threads";
import type { AssertionError } from "#base/assert.ts";
import type { FromWorker, StoredEvent, ToWorker } from "./messages.ts";

interface Listener {
  /** Called when the start of the first thread is complete. */
  readonly started: () => void;
  readonly leave: () => void;
  readonly metrics: () => string;
}

export class OwnerLink {
  onStored: (events: readonly StoredEvent[], problem: string) => void = () => {};
  readonly #pages = new Map<number, (text: string) => void>();
  #listener: Listener | undefined;
  #isStarted = false;
  #isLeaving = false;
  #exitCode = 0;
  #stop: () => void = () => process.exit(2);
  #asked = 0;

  constructor() {
    parentPort?.on("message", (message: ToWorker) => this.#hear(message));
  }

  /** Exit code of the thread. It is read after `runToEnd` has closed everything that it opened. */
  get exitCode(): number {
    return this.#exitCode;
  }

  /**
   * The thread ends as at a stop: connections first. Node 26 aborts the process where JavaScript ends while a connection of
   * node:http2 still reads. What this thread was asked meanwhile is answered, or its connection cut, within a stop's time.
   */
  endOnBug(bug: AssertionError): void {
    process.stderr.write(`pilothouse: this is a bug, and the thread stops: ${bug.stack}\n`);
    this.#exitCode = 2;
    this.#stop();
  }

  post(message: FromWorker): void {
    parentPort?.postMessage(message);
  }

  /** Registers the stop function of `runToEnd`. */
  readonly onStop = (stop: () => void): (() => void) => {
    this.#stop = stop;
    return () => {
      this.#stop = () => {};
    };
  };

  /** Passes messages to `listener` from now on. Earlier messages are passed at once. */
  listen(listener: Listener): void {
    this.#listener = listener;
    if (this.#isStarted) listener.started();
    if (this.#isLeaving) listener.leave();
  }

  /** Returns the metrics of all threads as text. */
  page(): Promise<string> {
    const asked = ++this.#asked;
    this.post({ kind: "page", asked });
    return new Promise((resolve) => this.#pages.set(asked, resolve));
  }

  failed(error: unknown): void {
    const { message, code = "" } = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
    this.post({ kind: "failed", message, code });
  }

  #hear(message: ToWorker): void {
    switch (message.kind) {
      case "started":
        this.#isStarted = true;
        this.#listener?.started();
        break;
      case "leave":
        this.#isLeaving = true;
        this.#listener?.leave();
        break;
      case "stop":
        this.#stop();
        break;
      case "metrics":
        this.post({
          kind: "metrics",
          asked: message.asked,
          text: this.#listener?.metrics() ?? "",
        });
        break;
      case "page":
        this.#pages.get(message.asked)?.(message.text);
        this.#pages.delete(message.asked);
        break;
      case "stored":
        this.onStored(message.events, message.problem);
        break;
    }
  }
}
