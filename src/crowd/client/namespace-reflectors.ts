/**
 * One reflector per namespace, for a set of namespaces that changes at run time. For accounts without rights in all
 * namespaces.
 *
 * Holds  a namespace has at most one reflector at a time, and a removed reflector no longer feeds its sink.
 * Bounds one watch per namespace: a reader of hundreds of namespaces should have rights in all, and one watch.
 */
import type { KubeObject } from "#api/object.ts";
import type { ReflectorDeps, ReflectorSink, Selection } from "./reflector.ts";
import { runReflector } from "./reflector.ts";

/** The selection in every namespace. */
export type NamespacesSelection = Omit<Selection, "namespace">;

interface Entry {
  readonly stop: AbortController;
  hasListed: boolean;
}

/** Receives the changes of all namespaces; "" stands for all namespaces. */
export interface NamespacesSink<T> {
  /** `items`: everything in `namespace` at `resourceVersion`; empty when it is removed from the set. */
  replaceIn(namespace: string, items: readonly T[], resourceVersion: string): void;
  apply: ReflectorSink<T>["apply"];
  /** Every namespace of the set has its first list. May be called repeatedly. */
  allListed(): void;
}

export class NamespaceReflectors<T extends KubeObject> {
  readonly #deps: ReflectorDeps;
  readonly #selection: NamespacesSelection;
  readonly #sink: NamespacesSink<T>;
  readonly #entries = new Map<string, Entry>();
  readonly #running = new Set<Promise<void>>();
  /** Set while `run` is running. */
  #signal: AbortSignal | undefined;

  constructor(deps: ReflectorDeps, selection: NamespacesSelection, sink: NamespacesSink<T>) {
    this.#deps = deps;
    this.#selection = selection;
    this.#sink = sink;
  }

  get names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  get haveListed(): boolean {
    for (const { hasListed } of this.#entries.values()) if (!hasListed) return false;
    return this.#signal !== undefined;
  }

  add(namespace: string): void {
    if (this.#entries.has(namespace)) return;
    const entry: Entry = { stop: new AbortController(), hasListed: false };
    this.#entries.set(namespace, entry);
    if (this.#signal !== undefined) this.#start(namespace, entry);
  }

  remove(namespace: string): void {
    const entry = this.#entries.get(namespace);
    if (entry === undefined) return;
    this.#entries.delete(namespace);
    entry.stop.abort();
    this.#sink.replaceIn(namespace, [], "");
    this.#tellListed();
  }

  /** Resolves after `signal` aborts, when every reflector has ended. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (const [namespace, entry] of this.#entries) this.#start(namespace, entry);
    this.#tellListed();
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    for (const { stop } of this.#entries.values()) stop.abort();
    await Promise.all(this.#running);
  }

  #start(namespace: string, entry: Entry): void {
    if (this.#signal?.aborted === true) entry.stop.abort();
    const sink: ReflectorSink<T> = {
      replace: (items, resourceVersion) => {
        this.#sink.replaceIn(namespace, items, resourceVersion);
        entry.hasListed = true;
        this.#tellListed();
      },
      apply: (events) => this.#sink.apply(events),
    };
    const selection = namespace === "" ? this.#selection : { ...this.#selection, namespace };
    const running = runReflector<T>(this.#deps, selection, sink, entry.stop.signal).finally(() =>
      this.#running.delete(running),
    );
    this.#running.add(running);
  }

  #tellListed(): void {
    if (this.haveListed) this.#sink.allListed();
  }
}
