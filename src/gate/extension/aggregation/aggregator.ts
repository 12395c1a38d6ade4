/**
 * The aggregator: finds and checks the APIServices of other servers, merges their descriptions, and passes requests on
 * to them.
 *
 * In     APIServices, and the Services and EndpointSlices behind them; the kinds that the catalog serves.
 * Holds  while a request waits, its remote server is asked only for the answer to that request. No two remotes share a
 *        queue that one of them could fill (rounds.ts).
 * Out    Delegates for the API server; Available conditions; APIServices of the kinds that are served here.
 */
import type { Lister } from "#api/lister.ts";
import type { AnyObject, JsonObject } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import { jsonEqual } from "#api/json/json-value.ts";
import type { ResourceCatalog } from "#apiserver/catalog.ts";
import type { Delegate, Delegates } from "#apiserver/delegates.ts";
import type { RemoteVersion } from "#apiserver/discovery/merged.ts";
import { OpenStreams, type StreamLimits } from "#apiserver/kubelet/open-streams.ts";
import { must } from "#base/assert.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { ResourceStore } from "#registry/resource-store.ts";
import type { Counter, MetricSet } from "#metrics/metric-set.ts";
import {
  apiServices,
  availableCondition,
  localVerdict,
  remoteSpec,
  type Verdict,
  withVerdict,
} from "./api-service.ts";
import { checkRemote } from "./availability.ts";
import type { AggregationLimits } from "./limits.ts";
import { ObjectFeed } from "./object-feed.ts";
import { passOn } from "./proxy.ts";
import { Registrar } from "./registrar.ts";
import type { MakeTransport } from "./remote.ts";
import { discoverRemote } from "./remote-discovery.ts";
import { fetchOpenapi } from "./remote-openapi.ts";
import { RemoteTable } from "./remote-table.ts";
import { Rounds } from "./rounds.ts";
import {
  endpointSlices,
  type ResolveService,
  serviceNameLabel,
  services,
} from "./service-resolver.ts";

interface AggregatorDeps {
  readonly catalog: ResourceCatalog;
  readonly lookup: Lister;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricSet;
  readonly resolve: ResolveService;
  readonly makeTransport: MakeTransport;
}

interface AggregatorOptions {
  readonly limits: AggregationLimits;
  readonly streams: StreamLimits;
}

export class Aggregator implements Delegates {
  readonly #deps: AggregatorDeps;
  readonly #limits: AggregationLimits;
  readonly #streams: OpenStreams;
  readonly #table: RemoteTable;
  readonly #store: ResourceStore;
  readonly #registrar: Registrar;
  readonly #rounds: Record<"check" | "discovery" | "openapi", Rounds>;
  readonly #feeds: ObjectFeed[] = [];
  readonly #available = new Map<string, boolean>();
  readonly #unavailableTotal: Counter;
  #isBehindWatched = false;

  constructor(deps: AggregatorDeps, { limits, streams }: AggregatorOptions) {
    const { catalog, clock, log, metrics, resolve, makeTransport } = deps;
    this.#deps = deps;
    this.#limits = limits;
    this.#streams = new OpenStreams(streams);
    const remotes = { clock, resolve, makeTransport, streams: this.#streams };
    this.#table = new RemoteTable(remotes, limits);
    const kind = catalog.find(apiServices.group, "v1", apiServices.resource);
    this.#store = must(kind?.store, "APIServices are built in");
    const infos = (): ReturnType<ResourceCatalog["infos"]> => catalog.infos();
    this.#registrar = new Registrar({ clock, log, store: this.#store, infos });
    this.#rounds = this.#makeRounds();
    this.#unavailableTotal = this.#declareMetrics(metrics);
  }

  /** Starts the aggregator, once the custom kinds of the store are served. Resolves when each remote is routed. */
  async start(): Promise<void> {
    const { catalog } = this.#deps;
    const changed = (object: AnyObject, isGone: boolean): void => this.#changed(object, isGone);
    const opened = (): void => this.#forgetGone();
    const feed = new ObjectFeed(
      { ...this.#deps, changed, opened },
      { ...apiServices, version: "v1" },
    );
    this.#feeds.push(feed);
    await feed.open();
    this.#registrar.start();
    catalog.onChange(() => this.#registrar.kindsChanged());
    await this.#registrar.settled();
  }

  /** Ends tunnels and connections. Resolves when no task is running any more. */
  async close(): Promise<void> {
    for (const feed of this.#feeds) feed.close();
    this.#streams.cutTunnels();
    this.#table.close();
    await Promise.all(Object.values(this.#rounds).map((rounds) => rounds.close()));
    await this.#registrar.close();
  }

  get size(): number {
    return this.#table.size;
  }

  /** Number of requests to remotes that hold a place, for tests. */
  get open(): number {
    return this.#streams.open;
  }

  find(group: string, version: string): Delegate | undefined {
    const remote = this.#table.at(group, version);
    if (remote === undefined) return undefined;
    const deps = { clock: this.#deps.clock, limits: this.#limits };
    return { serve: (context) => passOn(deps, context, remote) };
  }

  versions(): readonly RemoteVersion[] {
    return this.#table.versions();
  }

  openapiV3(): ReadonlyMap<string, string> {
    return this.#table.openapiV3();
  }

  openapiV2(): readonly JsonObject[] {
    return this.#table.openapiV2();
  }

  onChange(changed: () => void): void {
    this.#table.onChange(changed);
  }

  #makeRounds(): Record<"check" | "discovery" | "openapi", Rounds> {
    const { clock } = this.#deps;
    const limits = this.#limits;
    const make = (
      run: (key: string, signal: AbortSignal) => Promise<boolean>,
      options: ConstructorParameters<typeof Rounds>[1],
    ): Rounds => new Rounds({ clock, run }, options);
    return {
      check: make((name, signal) => this.#check(name, signal), {
        timer: "aggregation.check",
        atOnceMax: limits.checksAtOnce,
        everyMs: limits.checkEveryMs,
        retryMs: limits.checkRetryMs,
        retryMsMax: limits.checkEveryMs,
      }),
      discovery: make((name, signal) => this.#discover(name, signal), {
        timer: "aggregation.discovery",
        atOnceMax: limits.discoveryAtOnce,
        everyMs: limits.discoveryEveryMs,
        retryMs: limits.discoveryRetryMs,
        retryMsMax: limits.discoveryEveryMs,
      }),
      openapi: make((name, signal) => this.#fetchOpenapi(name, signal), {
        timer: "aggregation.openapi",
        atOnceMax: limits.openapiAtOnce,
        everyMs: limits.openapiEveryMs,
        retryMs: limits.openapiRetryMs,
        retryMsMax: limits.openapiRetryMsMax,
      }),
    };
  }

  #declareMetrics(metrics: MetricSet): Counter {
    const help = "APIServices which are marked as unavailable broken down by APIService name";
    const rows = function* (available: ReadonlyMap<string, boolean>) {
      for (const [name, is] of available) yield [[name], is ? 0 : 1] as const;
    };
    const gauge = "aggregator_unavailable_apiservice";
    metrics.gaugeOf(gauge, `[ALPHA] Gauge of ${help}.`, ["name"], () => rows(this.#available));
    return metrics.counter(`${gauge}_total`, `[ALPHA] Counter of ${help} and reason.`, [
      "name",
      "reason",
    ]);
  }

  #changed(object: AnyObject, isGone: boolean): void {
    const name = object.metadata?.name ?? "";
    this.#registrar.objectChanged(name);
    const spec = isGone ? undefined : remoteSpec(object);
    if (spec === undefined) this.#forgetRemote(name);
    if (isGone) {
      this.#available.delete(name);
      return;
    }
    const isAvailable = availableCondition(object)?.status === "True";
    this.#available.set(name, isAvailable);
    if (spec === undefined) {
      if (withVerdict(object, localVerdict, 0) !== undefined) this.#rounds.check.due(name);
      return;
    }
    const news = this.#table.set(spec, isAvailable);
    if (news === "nothing") return;
    this.#watchBehind();
    if (news === "spec") this.#rounds.check.due(name);
    this.#rounds.discovery.due(name);
    this.#rounds.openapi.due(name);
  }

  #forgetRemote(name: string): void {
    this.#table.delete(name);
    for (const rounds of Object.values(this.#rounds)) rounds.forget(name);
  }

  /** Removes remotes whose objects were deleted between two watches, where no event reports a deletion. */
  #forgetGone(): void {
    for (const name of this.#available.keys()) {
      if (this.#store.peek("", name) !== undefined) continue;
      this.#available.delete(name);
      this.#forgetRemote(name);
    }
  }

  /** Starts to watch Services and their endpoints. There are many, so they are only watched once a remote depends on one. */
  #watchBehind(): void {
    if (this.#isBehindWatched) return;
    this.#isBehindWatched = true;
    const due = (namespace: string, name: string): void => {
      for (const remote of this.#table.behind({ namespace, name })) this.#rounds.check.due(remote);
    };
    const ofService = ({ metadata }: AnyObject): void =>
      due(metadata?.namespace ?? "", metadata?.name ?? "");
    const ofSlice = ({ metadata }: AnyObject): void =>
      due(metadata?.namespace ?? "", metadata?.labels?.[serviceNameLabel] ?? "");
    const feeds = [
      new ObjectFeed({ ...this.#deps, changed: ofService }, { ...services, version: "v1" }),
      new ObjectFeed({ ...this.#deps, changed: ofSlice }, { ...endpointSlices, version: "v1" }),
    ];
    this.#feeds.push(...feeds);
    for (const feed of feeds) void feed.open(); // never rejects: it logs and opens again
  }

  async #check(name: string, signal: AbortSignal): Promise<boolean> {
    const object = this.#store.peek("", name)?.object;
    if (object === undefined) return true;
    const remote = this.#table.named(name);
    const verdict =
      remote === undefined
        ? localVerdict
        : await checkRemote({ ...this.#deps, limits: this.#limits }, remote, signal);
    if (signal.aborted) return true;
    try {
      await this.#write(name, object["spec"], verdict);
    } catch (error) {
      if (error instanceof ApiError && error.code === 404) return true;
      this.#deps.log.warn("an APIService's condition was not written", {
        name,
        error: String(error),
      });
      return false;
    }
    if (remote === undefined) this.#rounds.check.forget(name);
    return verdict.reason !== "FailedDiscoveryCheck";
  }

  /** Writes the verdict if it differs from the condition and the spec is still the one that was checked. */
  async #write(name: string, checked: unknown, verdict: Verdict): Promise<void> {
    const { clock } = this.#deps;
    const seen = this.#store.peek("", name)?.object;
    if (seen === undefined || withVerdict(seen, verdict, 0) === undefined) return;
    const next = (current: AnyObject | undefined): AnyObject => {
      const there = must(current, "an update that creates nothing has an object");
      if (!jsonEqual(there["spec"], checked as JsonObject)) return there;
      return withVerdict(there, verdict, clock.nowMs()) ?? there;
    };
    await this.#store.update("", name, next, { subresource: "status", dryRun: false });
    const isNews = availableCondition(seen)?.status === "True" && verdict.status !== "True";
    if (isNews) this.#unavailableTotal.add([name, verdict.reason]);
  }

  async #discover(name: string, signal: AbortSignal): Promise<boolean> {
    const remote = this.#table.named(name);
    if (remote === undefined) return true;
    try {
      const before = this.#table.discovered(name);
      const found = await discoverRemote(this.#limits, remote, before, signal);
      this.#table.setDiscovered(name, found);
      return true;
    } catch (error) {
      this.#deps.log.debug("a remote's discovery was not read", { name, error: String(error) });
      this.#table.setDiscovered(name, undefined);
      return false;
    }
  }

  async #fetchOpenapi(name: string, signal: AbortSignal): Promise<boolean> {
    const remote = this.#table.named(name);
    if (remote === undefined) return true;
    try {
      const before = this.#table.openapi(name);
      const found = await fetchOpenapi(this.#limits, remote, before, signal);
      const isKept = this.#table.setOpenapi(name, found);
      if (!isKept) this.#deps.log.warn("no room for a remote's OpenAPI document", { name });
      return true;
    } catch (error) {
      this.#deps.log.debug("a remote's OpenAPI was not read", { name, error: String(error) });
      return false;
    }
  }
}
