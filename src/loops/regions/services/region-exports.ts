/**
 * What a region exports: its ServiceExports, and of each the Service and its EndpointSlices. Nothing else of its Services and
 * endpoints is read.
 *
 * Bounds `exportsMax` exports, each with two watches; further ones are not looked at.
 * Holds  while the region does not answer, what it exported last.
 */
import type { EndpointSlice, Service } from "#api/gen/types.ts";
import { isReservedNamespace } from "../names.ts";
import type { KubeObject } from "#api/object.ts";
import type { Informer } from "#client/informer.ts";
import type { InformerSet } from "#client/informer-set.ts";
import { keyOf } from "#client/indexer.ts";
import { runReflector, type ReflectorDeps } from "#client/reflector.ts";
import { mcsRefs, refs } from "../names.ts";
import { keysOnly } from "../summary/keys-only.ts";
import type { ExportedService, ServiceExport } from "./exported-service.ts";

const exportsMax = 1_000;

interface Followed {
  readonly stop: AbortController;
  readonly slices: Map<string, EndpointSlice>;
  service: Service | undefined;
  /** Number of first lists received: the Service's and the slices'. At 2 both are known. */
  lists: number;
}

interface ExportsOptions {
  readonly region: string;
  /** Called with the `namespace/name` of a service when a part of it has changed. */
  readonly onChange: (key: string) => void;
  /** Called once the list of exported services is known. */
  readonly onSynced: () => void;
}

export class RegionExports {
  readonly #deps: ReflectorDeps;
  readonly #options: ExportsOptions;
  readonly #exports: Informer<ServiceExport>;
  readonly #followed = new Map<string, Followed>();
  readonly #running = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;

  constructor(deps: ReflectorDeps, informers: InformerSet, options: ExportsOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#exports = informers.informer<ServiceExport>(mcsRefs.exports);
    this.#exports.addHandler({
      add: (object) => this.#follow(object),
      update: (_, object) => options.onChange(keyOf(object)),
      delete: (object) => this.#forget(keyOf(object)),
    });
  }

  /** Whether the export and its contents are known, as of the region's last answer. */
  isKnown(key: string): boolean {
    return this.#exports.hasSynced && (this.#followed.get(key)?.lists ?? 2) >= 2;
  }

  keys(): Iterable<string> {
    return this.#followed.keys();
  }

  get(key: string): ExportedService | undefined {
    const followed = this.#followed.get(key);
    const [namespace = "", name = ""] = key.split("/");
    const object = this.#exports.get(namespace, name);
    if (followed === undefined || object === undefined) return undefined;
    const { service, slices } = followed;
    const names = [...slices.keys()].toSorted();
    return {
      region: this.#options.region,
      object,
      service,
      slices: names.flatMap((one) => slices.get(one) ?? []),
    };
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (const object of this.#exports.values()) this.#follow(object);
    const ended = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([this.#exports.synced, ended]);
    this.#options.onSynced();
    await ended;
    for (const { stop } of this.#followed.values()) stop.abort();
    await Promise.all(this.#running);
  }

  #follow(object: ServiceExport): void {
    const key = keyOf(object);
    const { namespace = "", name = "" } = object.metadata ?? {};
    const isTaken = this.#followed.has(key) || this.#followed.size >= exportsMax;
    if (this.#signal === undefined || isTaken || isReservedNamespace(namespace)) return;
    const followed: Followed = {
      stop: new AbortController(),
      slices: new Map(),
      service: undefined,
      lists: 0,
    };
    this.#followed.set(key, followed);
    const changed = (): void => this.#options.onChange(key);
    this.#start(this.#readService({ namespace, name }, followed, changed));
    this.#start(this.#readSlices({ namespace, name }, followed, changed));
  }

  #start(reading: Promise<void>): void {
    const running = reading.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #readService(
    { namespace, name }: { readonly namespace: string; readonly name: string },
    followed: Followed,
    changed: () => void,
  ): Promise<void> {
    const sink = keysOnly<Service>({
      set: (_, service) => {
        followed.service = service;
        changed();
      },
      remove: () => {
        followed.service = undefined;
        changed();
      },
    });
    const selection = { ref: refs.services, namespace, fieldSelector: `metadata.name=${name}` };
    return runReflector(
      this.#deps,
      selection,
      counting(sink, followed, changed),
      followed.stop.signal,
    );
  }

  #readSlices(
    { namespace, name }: { readonly namespace: string; readonly name: string },
    followed: Followed,
    changed: () => void,
  ): Promise<void> {
    const sink = keysOnly<EndpointSlice>({
      set: (key, slice) => {
        followed.slices.set(key, slice);
        changed();
      },
      remove: (key) => {
        followed.slices.delete(key);
        changed();
      },
    });
    const labelSelector = `kubernetes.io/service-name=${name}`;
    const selection = { ref: refs.endpointSlices, namespace, labelSelector };
    return runReflector(
      this.#deps,
      selection,
      counting(sink, followed, changed),
      followed.stop.signal,
    );
  }

  #forget(key: string): void {
    this.#followed.get(key)?.stop.abort();
    this.#followed.delete(key);
    this.#options.onChange(key);
  }
}

/** Wraps the sink to count its first list. */
function counting<T extends KubeObject>(
  sink: ReturnType<typeof keysOnly<T>>,
  followed: Followed,
  changed: () => void,
): ReturnType<typeof keysOnly<T>> {
  let isListed = false;
  return {
    replace(items, version) {
      sink.replace(items, version);
      if (isListed) return;
      isListed = true;
      followed.lists++;
      changed();
    },
    apply: (events) => sink.apply(events),
  };
}
