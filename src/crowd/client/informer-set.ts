/**
 * Informers shared by all parts of one process: one watch and one frozen copy per selection,
 * however many controllers use it.
 */
import type { KubeObject } from "#api/object.ts";
import { assert } from "#base/assert.ts";
import type { ResourceRef } from "./client.ts";
import type { Informer, NamespacesInformer } from "./informer.ts";
import { createInformer, createNamespacesInformer } from "./informer.ts";
import type { ReflectorDeps, Selection } from "./reflector.ts";

type SelectionOptions = Omit<Selection, "ref">;

export interface InformerSet {
  /** The informer of this selection; the first call creates it, and starts it if the set runs. */
  informer<T extends KubeObject>(ref: ResourceRef, options?: SelectionOptions): Informer<T>;
  /** Like `informer`, for a variable set of namespaces; all callers add to the same set. */
  inNamespaces<T extends KubeObject>(
    ref: ResourceRef,
    options?: Omit<SelectionOptions, "namespace">,
  ): NamespacesInformer<T>;
  /** Ends the informers of a resource that is not served any more. Later calls create new ones. */
  release(ref: ResourceRef): void;
  /** Whether `informer` is the current one of its resource, which it is not after a release. */
  holds(informer: Informer<KubeObject>): boolean;
  /** Resolves when every informer created so far has its first list, or when `signal` aborts. */
  synced(signal: AbortSignal): Promise<void>;
  /** Runs all informers, including later ones, until `signal` aborts. Call once. */
  run(signal: AbortSignal): Promise<void>;
}

export function createInformerSet(deps: ReflectorDeps): InformerSet {
  return new SharedInformers(deps);
}

class SharedInformers implements InformerSet {
  readonly #deps: ReflectorDeps;
  readonly #informers = new Map<string, Informer<KubeObject>>();
  /** State of the running informers. */
  readonly #running = new Map<Informer<KubeObject>, Running>();
  #signal: AbortSignal | undefined;

  constructor(deps: ReflectorDeps) {
    this.#deps = deps;
  }

  informer<T extends KubeObject>(ref: ResourceRef, options: SelectionOptions = {}): Informer<T> {
    const selection = { ref, ...options };
    return this.#shared<Informer<T>>(selectionKey(ref, options), () =>
      createInformer<KubeObject>(this.#deps, selection),
    );
  }

  inNamespaces<T extends KubeObject>(
    ref: ResourceRef,
    options: Omit<SelectionOptions, "namespace"> = {},
  ): NamespacesInformer<T> {
    const selection = { ref, ...options };
    return this.#shared<NamespacesInformer<T>>(`${selectionKey(ref, options)}\nsome`, () =>
      createNamespacesInformer<KubeObject>(this.#deps, selection),
    );
  }

  #shared<I>(key: string, create: () => Informer<KubeObject>): I {
    let informer = this.#informers.get(key);
    if (informer === undefined) {
      informer = create();
      this.#informers.set(key, informer);
      if (this.#signal !== undefined) this.#run(informer);
    }
    // A resource has one kind, which the caller names, and a key has one creating function.
    return informer as unknown as I;
  }

  release(ref: ResourceRef): void {
    for (const [key, informer] of this.#informers) {
      if (!isSameResource(informer.ref, ref)) continue;
      this.#informers.delete(key);
      this.#running.get(informer)?.stop.abort();
    }
  }

  holds(informer: Informer<KubeObject>): boolean {
    return [...this.#informers.values()].includes(informer);
  }

  async synced(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    let stop: () => void = () => {};
    const aborted = new Promise<void>((resolve) => {
      stop = resolve;
    });
    signal.addEventListener("abort", stop, { once: true });
    const all = [...this.#informers.values()].map((informer) => informer.synced);
    await Promise.race([Promise.all(all), aborted]);
    signal.removeEventListener("abort", stop);
  }

  async run(signal: AbortSignal): Promise<void> {
    assert(this.#signal === undefined, "an informer set runs once");
    this.#signal = signal;
    for (const informer of this.#informers.values()) this.#run(informer);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    for (const { stop } of this.#running.values()) stop.abort();
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  #run(informer: Informer<KubeObject>): void {
    const stop = new AbortController();
    if (this.#signal?.aborted === true) stop.abort();
    const ended = informer.run(stop.signal).finally(() => this.#running.delete(informer));
    this.#running.set(informer, { stop, ended });
  }
}

interface Running {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

function isSameResource(a: ResourceRef, b: ResourceRef): boolean {
  return a.group === b.group && a.version === b.version && a.resource === b.resource;
}

function selectionKey(ref: ResourceRef, options: SelectionOptions): string {
  const { namespace = "", labelSelector = "", fieldSelector = "" } = options;
  const { group, version, resource } = ref;
  // `watchList` is not part of the key, because the resulting copy is the same.
  const form = `${options.metadataOnly === true} ${options.keepsDecoded === true}`;
  return [group, version, resource, namespace, labelSelector, fieldSelector, form].join("\n");
}
