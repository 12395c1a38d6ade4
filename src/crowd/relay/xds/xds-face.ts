/**
 * The aggregated discovery service of a relay: mirrors in, calls out.
 *
 *   mirrors ──feed──► ResourceMaker ──► tables ──► streams ──wake──► pump, some streams a turn of the loop
 *
 * Holds  a call is taken once every mirror that resources are made of was fed whole; before, the client is
 *        sent elsewhere. However many changes come, a stream is written to once a turn, and not while its
 *        client does not read.
 */
import type { Buffer } from "node:buffer";
import { hash } from "node:crypto";
import { failure } from "#api/status.ts";
import type { AnyObject } from "#api/object.ts";
import type { EndpointSlice, Ingress, Service } from "#api/gen/types.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import { Deadlines } from "#platform/deadlines.ts";
import type { Peer } from "#platform/http.ts";
import { onNextTurn } from "#platform/pace.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { Code, GrpcError } from "#wire/grpc.ts";
import { namespaceOfName } from "#xds/resource-names.ts";
import type { ResourceTable } from "#xds/resource-table.ts";
import { collectionOf } from "#xds/type-urls.ts";
import { ResourceForms } from "#xds/resource-forms.ts";
import { ResourceMaker } from "#xds/resource-maker.ts";
import type { GatewayKind } from "#xds/gateway/gateway-mapping.ts";
import type { EntryPoint } from "../access/entry-point.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { Mirrored } from "../mirror/mirrored.ts";
import { Collections, scopeOfName } from "./collections.ts";
import { Feed } from "./feed.ts";
import type { XdsLimits } from "./limits.ts";
import { XdsCall, type XdsShared, type XdsTransport } from "./xds-call.ts";
import { XdsMetrics } from "./xds-metrics.ts";

const service = "/envoy.service.discovery.v3.AggregatedDiscoveryService";
const paths = [
  [`${service}/DeltaAggregatedResources`, "delta"],
  [`${service}/StreamAggregatedResources`, "state"],
] as const;

/** Resources that the xDS mapping requires. */
export const xdsResources = [
  "v1/services",
  "discovery.k8s.io/v1/endpointslices",
  "networking.k8s.io/v1/ingresses",
] as const;
type XdsResource = (typeof xdsResources)[number];

/** Resources that it reads if the cluster has them; their definitions may be created, changed and deleted. */
export const optionalResources = [
  "multicluster.x-k8s.io/v1alpha1/serviceimports",
  "gateway.networking.k8s.io/v1/gateways",
  "gateway.networking.k8s.io/v1/httproutes",
  "gateway.networking.k8s.io/v1/grpcroutes",
  "gateway.networking.k8s.io/v1beta1/referencegrants",
  "v1/namespaces",
] as const;
type OptionalResource = (typeof optionalResources)[number];

const optionalKinds: Readonly<Record<OptionalResource, GatewayKind | "ServiceImport">> = {
  "multicluster.x-k8s.io/v1alpha1/serviceimports": "ServiceImport",
  "gateway.networking.k8s.io/v1/gateways": "Gateway",
  "gateway.networking.k8s.io/v1/httproutes": "HTTPRoute",
  "gateway.networking.k8s.io/v1/grpcroutes": "GRPCRoute",
  "gateway.networking.k8s.io/v1beta1/referencegrants": "ReferenceGrant",
  "v1/namespaces": "Namespace",
};

interface XdsDeps {
  readonly clock: Clock;
  readonly metrics: MetricSet;
  readonly door: EntryPoint;
  readonly mirrors: XdsMirrors;
}

/** The methods used of the relay's mirrors. */
interface XdsMirrors {
  byId(kindId: string): Mirrored | undefined;
  /** Whether the relay's readiness waits for the mirror's first list. */
  isAwaited(mirrored: Mirrored): boolean;
  readonly complete: boolean;
}

/** Handler of a stream, as gRPC servers call it. */
interface XdsStreamEnd {
  /** Handles a message; `bytes` is borrowed until return. */
  message(bytes: Buffer): void;
  halfClosed(): void;
  closed(): void;
}

interface XdsMethod {
  readonly kind: "stream";
  readonly open: (transport: XdsTransport, authorization?: string) => XdsStreamEnd;
}

const beatsPerTtl = 3;

const refusedCall: XdsStreamEnd = {
  message: () => undefined,
  halfClosed: () => undefined,
  closed: () => undefined,
};

export class XdsFace {
  readonly #deps: XdsDeps;
  readonly #limits: XdsLimits;
  readonly #metrics: XdsMetrics;
  readonly #maker: ResourceMaker;
  readonly #collections: Collections;
  readonly #feeds: readonly Feed[];
  readonly #optionalFeeds = new Map<OptionalResource, Feed>();
  #pacing: Timer | undefined;
  /** Timer that deletes the objects of ended mirrors without a successor. */
  #forgetting: Timer | undefined;
  #beating: Timer | undefined;
  readonly #shared: XdsShared;
  readonly #calls = new Set<XdsCall>();
  readonly #awake = new Set<XdsCall>();
  #names = 0;
  #isPumping = false;
  /** Whether all resources have been made once. */
  #isBegun = false;
  #isStopped = false;

  constructor(deps: XdsDeps, limits: XdsLimits) {
    this.#deps = deps;
    this.#limits = limits;
    const { clock } = deps;
    this.#metrics = new XdsMetrics(deps.metrics, limits);
    this.#maker = new ResourceMaker(digestOf, limits);
    const mirrorOf = (id: string): Mirrored | undefined => deps.mirrors.byId(id);
    this.#collections = new Collections({ clock, digest: digestOf, mirrorOf }, limits);
    this.#feeds = xdsResources.map((id) => this.#feed(id));
    this.mirrorsTurned();
    this.#shared = {
      door: deps.door,
      deadlines: new Deadlines(clock, { name: "relay.xds", stepMs: 250 }),
      metrics: this.#metrics,
      limits,
      tableOf: (typeUrl) => this.#collections.table(typeUrl) ?? this.#maker.table(typeUrl),
      scopeOf: (typeUrl, name) =>
        collectionOf(typeUrl) === "" ? namespaceOfName(name) : scopeOfName(name),
      takeNames: (change) => this.#takeNames(change),
      wake: (call) => this.#wake(call),
      closed: (call) => this.#closed(call),
      forms: new ResourceForms(limits.ttlMs),
      now: () => new Date(clock.nowMs()).toISOString(),
    };
    this.#describe();
    if (limits.ttlMs > 0) this.#beatLater();
  }

  /** Returns the gRPC methods for the connection of one peer. */
  methods(peer: Peer): ReadonlyMap<string, XdsMethod> {
    return new Map(
      paths.map(([path, protocol]) => [
        path,
        {
          kind: "stream",
          open: (transport, authorization = "") => {
            const refusal = this.#refusal();
            if (refusal !== undefined) {
              transport.fail(refusal);
              return refusedCall;
            }
            const headers: Readonly<Record<string, string>> =
              authorization === "" ? {} : { authorization };
            const body = { kind: "none" } as const;
            const { signal } = new AbortController();
            const request = { method: "POST", path, query: "", headers, body, peer, signal };
            const call = new XdsCall(this.#shared, transport, { request, protocol });
            this.#calls.add(call);
            return call;
          },
        },
      ]),
    );
  }

  /** Whether every mirror has been read completely; of the optional ones those that exist at the start and can be read. */
  get isReady(): boolean {
    const { complete } = this.#deps.mirrors;
    const isFed = (feed: Feed): boolean => feed.isFed;
    return complete && this.#feeds.every(isFed) && optionalResources.every((id) => this.#isFed(id));
  }

  #isFed(id: OptionalResource): boolean {
    const { mirrors } = this.#deps;
    const mirrored = mirrors.byId(id);
    if (mirrored === undefined || !mirrors.isAwaited(mirrored)) return true;
    return mirrored.upstream.passes || this.#optionalFeeds.get(id)?.isFed === true;
  }

  /**
   * The relay's mirrors are others. A definition that changed has a new mirror soon: until then, and until it
   * is listed, its objects count as they were.
   */
  mirrorsTurned(): void {
    if (this.#isStopped) return;
    this.#collections.mirrorsTurned();
    for (const id of optionalResources) {
      const mirror = this.#deps.mirrors.byId(id)?.mirror;
      const before = this.#optionalFeeds.get(id);
      if (before?.mirror === mirror) continue;
      if (mirror === undefined) this.#forgetLater();
      else this.#optionalFeeds.set(id, this.#optionalFeed(id, mirror, before));
    }
  }

  #optionalFeed(id: OptionalResource, mirror: Mirror, before: Feed | undefined): Feed {
    before?.stop();
    const { clock } = this.#deps;
    const settle = (): void => this.#settle();
    const put = (key: string, object: AnyObject | undefined): void =>
      this.#putOptional(id, key, object);
    return new Feed({ clock, mirror, put, settle, ...(before && { known: before.keys }) });
  }

  #putOptional(id: OptionalResource, key: string, object: AnyObject | undefined): void {
    const kind = optionalKinds[id];
    if (kind === "ServiceImport") this.#maker.serviceImport(key, object);
    else this.#maker.gatewayObject(kind, key, object);
  }

  #forgetLater(): void {
    const { clock } = this.#deps;
    this.#forgetting ??= clock.after("relay.xds", this.#limits.forgetMs, () => {
      this.#forgetting = undefined;
      if (!this.#isStopped) this.#forget();
    });
  }

  #forget(): void {
    for (const [id, feed] of this.#optionalFeeds) {
      if (this.#deps.mirrors.byId(id) !== undefined) continue;
      feed.stop();
      for (const key of feed.keys) this.#putOptional(id, key, undefined);
      this.#optionalFeeds.delete(id);
    }
    this.#settle();
  }

  /** Makes the resources anew, those of routes at their own pace. It waits until all mirrors are read, which saves repeated work. */
  #settle(): void {
    if (!this.isReady) return;
    this.#maker.settleObjects();
    if (!this.#maker.areRoutesChanged) return;
    this.#pacing ??= this.#deps.clock.after("relay.xds", this.#limits.routesPaceMs, () => {
      this.#pacing = undefined;
      if (!this.#isStopped) this.#maker.settle();
    });
  }

  get #tables(): readonly ResourceTable[] {
    return [...this.#maker.tables, ...this.#collections.tables];
  }

  /** Sends heartbeats so often that a client drops a resource only after missing two. */
  #beatLater(): void {
    const { clock } = this.#deps;
    this.#beating = clock.after("relay.xds", this.#limits.ttlMs / beatsPerTtl, () => {
      if (this.#isStopped) return;
      for (const call of this.#calls) call.stream.beat();
      this.#beatLater();
    });
  }

  /** Returns the content of /relay/xds. */
  status(): object {
    return {
      ready: this.isReady,
      streams: this.#calls.size,
      names: this.#names,
      resources: Object.fromEntries(this.#tables.map(({ typeUrl, size }) => [typeUrl, size])),
      refusals: this.#metrics.refusals,
      // Problems of routes are reported here, because the relay cannot write them into an object's status.
      problems: this.#maker.problems,
    };
  }

  stop(): void {
    this.#isStopped = true;
    this.#forgetting?.cancel();
    this.#beating?.cancel();
    this.#pacing?.cancel();
    this.#collections.stop();
    for (const feed of [...this.#feeds, ...this.#optionalFeeds.values()]) feed.stop();
    const stopping = new GrpcError(Code.unavailable, "the relay is shutting down");
    for (const call of this.#calls) call.fail(stopping);
  }

  /** Returns why a new call is refused. Undefined: it is accepted. */
  #refusal(): GrpcError | undefined {
    if (this.#isStopped) return new GrpcError(Code.unavailable, "the relay is shutting down");
    if (!this.isReady) {
      return new GrpcError(Code.unavailable, "the relay has not listed its resources yet");
    }
    // The relay may have become ready without a change of objects, so the resources are made here.
    if (!this.#isBegun) this.#maker.settle();
    this.#isBegun = true;
    if (this.#calls.size < this.#limits.streamsMax) return undefined;
    return new GrpcError(Code.resourceExhausted, "the relay has too many streams");
  }

  #feed(id: XdsResource): Feed {
    const mirrored = this.#deps.mirrors.byId(id);
    if (mirrored === undefined) {
      throw failure(500, "InternalError", `${id} is not mirrored, and xDS is made of it`);
    }
    const { clock } = this.#deps;
    const settle = (): void => this.#settle();
    return new Feed({ clock, mirror: mirrored.mirror, put: this.#putter(id), settle });
  }

  /** The kind of the mirror determines the type of its objects. */
  #putter(id: XdsResource): (key: string, object: AnyObject | undefined) => void {
    const maker = this.#maker;
    switch (id) {
      case "v1/services":
        return (key, object) => maker.service(key, object as Service | undefined);
      case "discovery.k8s.io/v1/endpointslices":
        return (key, object) => maker.slice(key, object as EndpointSlice | undefined);
      case "networking.k8s.io/v1/ingresses":
        return (key, object) => maker.ingress(key, object as Ingress | undefined);
      default:
        return id satisfies never;
    }
  }

  #takeNames(change: number): boolean {
    if (change > 0 && this.#names + change > this.#limits.namesTotalMax) return false;
    this.#names += change;
    return true;
  }

  #wake(call: XdsCall): void {
    this.#awake.add(call);
    if (this.#isPumping) return;
    this.#isPumping = true;
    onNextTurn(this.#deps.clock, () => this.#pump());
  }

  #pump(): void {
    let left = this.#limits.streamsPerTurn;
    for (const call of this.#awake) {
      if (left-- === 0) break;
      this.#awake.delete(call);
      call.pump();
    }
    this.#isPumping = this.#awake.size > 0;
    if (this.#isPumping) onNextTurn(this.#deps.clock, () => this.#pump());
  }

  #closed(call: XdsCall): void {
    this.#calls.delete(call);
    this.#awake.delete(call);
  }

  #describe(): void {
    const { metrics } = this.#deps;
    metrics.gaugeOf("relay_xds_streams", "Discovery streams open.", [], () => [
      [[], this.#calls.size],
    ]);
    metrics.gaugeOf("relay_xds_names", "Names that clients subscribe to.", [], () => [
      [[], this.#names],
    ]);
    metrics.gaugeOf("relay_xds_resources", "Resources served, by type.", ["type"], () =>
      this.#tables.map(({ typeUrl, size }) => [[typeUrl], size]),
    );
  }
}

function digestOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${hash("sha256", bytes, "hex").slice(0, 32)}`);
}
