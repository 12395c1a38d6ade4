/**
 * A relay: mirrors of some resources of one upstream, and the handler that answers from them.
 *
 *   request ─► who? ─► may they? ─► mirror (kubernetes-face, etag-face)      mirrored reads
 *                                └► discovery cache                          what every client reads first
 *                                └► pass-through, as that user               everything else
 *
 * Holds  one list and one watch per mirrored resource, whatever the crowd; nothing mirrored is shown to
 *        a user the upstream did not allow; what the relay cannot answer exactly, the upstream does.
 * Own paths  /relay/healthz (the process), /relay/load (streams open, for peers), /relay/readyz (every
 *        mirror has its first list, and none is too old), /relay/metrics (who may get /metrics upstream), /etag/...
 *        and /views/... (etag-face.ts).
 */
import { ApiError, badRequest, failure, notFound } from "#api/status.ts";
import type { Client } from "#client/client.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import type { ByteDuplex, PlainHandler, PlainRequest, PlainResponse } from "#platform/http.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { MetricSet } from "#server/metric-set.ts";
import { requestInfo, type RequestInfo } from "#server/request-info.ts";
import { textResponse } from "#server/respond.ts";
import { statusResponse } from "#server/status.ts";
import { FrameJoiner } from "#server/watch-frames.ts";
import { streamDeadlines } from "#server/watch-stream.ts";
import { startBookmarks } from "#watch/bookmarks.ts";
import { MemoPool } from "#watch/memo-pool.ts";
import { Access, type PeerIdentity, type Question } from "./access.ts";
import { DiscoveryCache, isDiscovery } from "./discovery-cache.ts";
import { balance } from "./balance.ts";
import { type Caller, type Door, innerDoor, publicDoor } from "./door.ts";
import { asksForEvents, EtagFace, type EtagRead } from "./etag-face.ts";
import { Herd } from "./herd.ts";
import { KubernetesFace } from "./kubernetes-face.ts";
import { LoopGuard } from "./loop-guard.ts";
import type { RelayLimits } from "./limits.ts";
import { describeHerd, describeRelay, describeViews, RelayMetrics } from "./metrics.ts";
import { Mirror } from "./mirror.ts";
import { kindId, type MirroredKind } from "./mirrored-kind.ts";
import { MirrorSet, type MirrorSetDeps } from "./mirror-set.ts";
import { mirrored, type Mirrored } from "./mirrored.ts";
import { NamedView } from "./named-view.ts";
import { OpenStreams } from "./open-streams.ts";
import { OwnPages, ownPrefix } from "./own-pages.ts";
import { type PassDeps, passThrough } from "./pass-through.ts";
import { selectorsOf } from "./read-query.ts";
import { reviewDeadlines, reviewed, type StreamReviewDeps } from "./stream-review.ts";
import type { CustomChoice } from "./resources.ts";
import { Shadow } from "./shadow.ts";
import { Upstream } from "./upstream.ts";
import type { ViewDefinition } from "./view-definition.ts";
import type { View } from "./view.ts";

export interface RelayDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricSet;
  /** For the mirrors' own streams and for reviews. */
  readonly http: ByteTransport;
  /** For what passes through: a crowd here must not keep the mirrors from a connection. */
  readonly passHttp: ByteTransport;
  /** As the relay itself. */
  readonly client: Client;
  /** The relay's own credential, asked per request. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly peers: PeerIdentity;
  /** Streams of each other relay that answers; absent: there are none to balance with. */
  readonly peerStreams?: () => Promise<readonly number[]>;
  /** Of all processes of this relay; absent: this one is the only one. */
  readonly metricsText?: () => Promise<string>;
}

export interface RelayOptions {
  readonly resources: readonly MirroredKind[];
  /** Of the operator's file; the resource of each is among `resources`. */
  readonly views: readonly ViewOn[];
  /** Follow the definitions of custom resources; absent: what is there at the start is all. */
  readonly custom?: CustomChoice;
  readonly consistency: "verify" | "cache";
  /** Share of the reads answered here that are asked upstream too; absent: none. */
  readonly shadowRate?: number;
  readonly limits: RelayLimits;
}

export interface ViewOn {
  readonly definition: ViewDefinition;
  readonly kind: MirroredKind;
}

export interface Relay {
  readonly handler: PlainHandler;
  /** For the relay's own serving workers, who have asked already who it is and may: see door.ts. */
  readonly innerHandler: PlainHandler;
  /** Every mirror has its first list, or is refused one for good. */
  readonly ready: boolean;
  readonly resources: readonly Mirrored[];
  /** Resolves when every mirror has its first list, or `signal` aborts. */
  untilReady(signal: AbortSignal): Promise<void>;
  /** Ends the streams one by one over `overMs`, so that their clients do not come back as one. */
  drain(overMs: number): Promise<void>;
  stop(): Promise<void>;
}

export function createRelay(deps: RelayDeps, options: RelayOptions): Relay {
  return new RelayServer(deps, options);
}

const etagPrefix = "/etag";
const viewsPrefix = "/views/";
const readVerbs = new Set(["get", "list", "watch"]);

/** A request on its way: which door it came in by, and for whom. */
interface Asked {
  readonly request: PlainRequest;
  readonly query: URLSearchParams;
  readonly door: Door;
  readonly caller: Caller;
}

class RelayServer implements Relay {
  readonly handler: PlainHandler;
  readonly innerHandler: PlainHandler;
  readonly #deps: RelayDeps;
  readonly #limits: RelayLimits;
  readonly #access: Access;
  readonly #metrics: RelayMetrics;
  readonly #herd: Herd;
  readonly #shadow: Shadow | undefined;
  readonly #loop: LoopGuard;
  /** As given, but that the way of what is sent is known. */
  readonly #http: ByteTransport;
  readonly #passHttp: ByteTransport;
  readonly #discovery: DiscoveryCache;
  readonly #kubernetes: KubernetesFace;
  readonly #etag: EtagFace;
  readonly #views = new Map<string, NamedView>();
  readonly #viewsOn: readonly ViewOn[];
  readonly #mirrors: MirrorSet;
  readonly #streams: OpenStreams;
  readonly #own: OwnPages;
  readonly #tunnels = new Set<ByteDuplex>();
  readonly #stopping = new AbortController();
  readonly #reviews: StreamReviewDeps;
  readonly #bookmarks: { stop(): void };

  constructor(deps: RelayDeps, options: RelayOptions) {
    const { limits } = options;
    const { clock, random } = deps;
    this.#deps = deps;
    this.#limits = limits;
    this.#access = new Access(deps, limits);
    this.#metrics = new RelayMetrics(deps.metrics);
    this.#loop = new LoopGuard(deps);
    this.#http = this.#loop.around(deps.http);
    this.#passHttp = this.#loop.around(deps.passHttp);
    this.#reviews = {
      deadlines: reviewDeadlines(clock),
      everyMs: limits.reviewStreamsMs,
      ended: () => this.#metrics.endedByReview.add([]),
    };
    this.#discovery = new DiscoveryCache(deps, limits);
    this.#herd = new Herd(deps, limits);
    this.#streams = new OpenStreams(deps, limits);
    this.#shadow = this.#shadowing(options.shadowRate ?? 0);
    const shared = {
      clock,
      random,
      streams: {
        deadlines: streamDeadlines(clock),
        joiner: new FrameJoiner(),
        open: this.#streams.all,
        sent: { events: this.#metrics.eventsOut.cell([]), bytes: this.#metrics.bytesOut.cell([]) },
      },
      metrics: this.#metrics,
      herd: this.#herd,
      consistency: options.consistency,
    };
    this.#kubernetes = new KubernetesFace(shared, limits);
    this.#etag = new EtagFace(shared, limits);
    this.#viewsOn = options.views;
    this.#mirrors = new MirrorSet(
      { ...deps, start: this.#starter(), changed: () => this.#discovery.forget() },
      options,
      limits,
    );
    this.#own = new OwnPages({ ...deps, mirrors: this.#mirrors, streams: this.#streams }, limits);
    describeViews(deps.metrics, () => this.#views.values());
    void this.#balance();
    this.#bookmarks = startBookmarks(
      { clock, sources: () => this.resources.map(({ mirror }) => mirror) },
      { periodMs: limits.bookmarkPeriodMs, slots: limits.bookmarkSlots },
    );
    describeRelay(
      deps.metrics,
      this.#access,
      () => this.resources,
      () => this.#streams.size,
    );
    describeHerd(deps.metrics, this.#herd);
    const door = publicDoor(this.#access);
    this.handler = (request) => this.#handle(request, door);
    this.innerHandler = (request) => this.#handle(request, innerDoor);
  }

  get resources(): readonly Mirrored[] {
    return this.#mirrors.all;
  }

  get ready(): boolean {
    const { complete, awaited } = this.#mirrors;
    return complete && awaited.every(({ mirror, upstream }) => mirror.ready || upstream.refused);
  }

  async untilReady(signal: AbortSignal): Promise<void> {
    while (!this.ready && !signal.aborted) {
      await sleep(this.#deps.clock, "relay.fresh", 20, signal);
    }
  }

  drain(overMs: number): Promise<void> {
    return this.#streams.drain(overMs, this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#streams.leave();
    this.#stopping.abort();
    this.#bookmarks.stop();
    await this.#mirrors.stop();
  }

  /** Undefined: nobody asked for it. */
  #shadowing(rate: number): Shadow | undefined {
    if (rate === 0) return undefined;
    const { random, log, headers } = this.#deps;
    const looked = this.#metrics.shadowed;
    return new Shadow(
      { http: this.#passHttp, headers, random, log, looked },
      { rate, ...this.#limits },
    );
  }

  async #balance(): Promise<void> {
    const { clock, peerStreams } = this.#deps;
    if (peerStreams === undefined) return;
    const own = (): number => this.#streams.size;
    const letGo = (count: number): void => this.#metrics.moved.add([], this.#streams.move(count));
    await balance({ clock, peerStreams, own, letGo }, this.#stopping.signal);
  }

  #starter(): MirrorSetDeps["start"] {
    const { clock } = this.#deps;
    const memos = new MemoPool({ bytesMax: this.#limits.memoBytesMax });
    return (kind, signal) => {
      const dispatched = this.#metrics.dispatched(kind);
      const mirror = new Mirror({ clock, memos, dispatched }, kind, this.#limits);
      const upstream = new Upstream({ ...this.#deps, http: this.#http }, mirror, this.#limits);
      const ended = upstream.run(signal);
      const made = mirrored({ clock, upstream, signal }, this.#limits);
      this.#startViews(made);
      return { mirrored: made, ended };
    };
  }

  /** Those on the resource of a mirror are of that mirror. */
  #startViews(resource: Mirrored): void {
    for (const { definition, kind } of this.#viewsOn) {
      if (kindId(kind) !== kindId(resource.kind)) continue;
      this.#views.set(
        definition.name,
        new NamedView(this.#deps, definition, resource, this.#limits),
      );
    }
  }

  async #handle(request: PlainRequest, door: Door): Promise<PlainResponse> {
    const query = new URLSearchParams(request.query);
    const { via } = request.headers;
    try {
      if (via !== undefined) this.#loop.check(via);
      const [by, response] = await this.#route(request, query, door);
      this.#metrics.answered(by, response, query);
      // To a relay: who stands behind this one.
      return via === undefined ? response : withHeader(response, "via", this.#loop.answer);
    } catch (error) {
      const response = uncached(statusResponse(request, query, error));
      this.#metrics.requests.add(["refused", String(response.status)]);
      if (!(error instanceof ApiError)) this.#failed(request, error);
      return response;
    }
  }

  #failed(request: PlainRequest, error: unknown): void {
    const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#deps.log.error("request failed", { path: request.path, error: trace });
  }

  async #route(
    request: PlainRequest,
    query: URLSearchParams,
    door: Door,
  ): Promise<readonly [string, PlainResponse]> {
    const own = request.path.startsWith(ownPrefix);
    const page = own ? this.#own.open(request.path) : undefined;
    if (page !== undefined) return ["relay", page];
    const caller = await door.caller(request);
    if (own) return ["relay", await this.#own.answer(request, door, caller)];
    if (request.path.startsWith(`${etagPrefix}/`)) {
      return ["etag", await this.#answerEtag({ request, query, door, caller })];
    }
    if (request.path.startsWith(viewsPrefix)) {
      return ["etag", await this.#answerView({ request, query, door, caller })];
    }
    const info = requestInfo(request.method, request.path, query);
    const resource = this.#mirroredRead(request, info);
    if (resource !== undefined) {
      const response = await this.#answerMirrored(resource, { request, info, query, door, caller });
      if (response !== "pass") return ["mirror", uncached(response)];
    }
    if (isDiscovery(request)) {
      await door.authorizePath(caller, request.path);
      const response = await this.#discovery.answer(request);
      if (response !== undefined) return ["discovery", response];
    }
    return ["upstream", await passThrough(this.#passDeps, this.#limits, request, caller)];
  }

  get #passDeps(): PassDeps {
    const { headers } = this.#deps;
    return { http: this.#passHttp, headers, tunnels: this.#tunnels };
  }

  #mirroredRead(request: PlainRequest, info: RequestInfo): Mirrored | undefined {
    if (request.method !== "GET" || !info.resourceRequest || info.subresource !== "")
      return undefined;
    // A watch over WebSocket is the upstream's.
    if (request.upgrade !== undefined) return undefined;
    if (!readVerbs.has(info.verb) || info.parts.length > 2) return undefined;
    return this.#mirrors.byId(kindId(info));
  }

  async #answerMirrored(
    resource: Mirrored,
    read: Asked & { readonly info: RequestInfo },
  ): Promise<PlainResponse | "pass"> {
    const { request, info, query, door, caller } = read;
    const asked = question(info, query);
    await door.authorize(caller, asked);
    // What the relay may not mirror it still passes on.
    const { mirror, upstream } = resource;
    if (mirror.closed) return "pass";
    if (!mirror.ready && (upstream.refused || !this.#mirrors.isAwaited(resource))) return "pass";
    await this.#untilServing(resource, request);
    if (info.verb === "watch") this.#streams.admit();
    const response = await this.#kubernetes.answer({ resource, request, info, query });
    if (response === "pass") return response;
    if (response.kind === "stream") return this.#reviewed(response, read, [asked]);
    const { verb } = info;
    void this.#shadow?.look({ resource: kindId(resource.kind), verb, ...read }, response);
    return response;
  }

  async #answerEtag(read: Asked): Promise<PlainResponse> {
    const { request, query } = read;
    if (!isPoll(request)) return pollsOnly();
    const path = request.path.slice(etagPrefix.length);
    const info = requestInfo("GET", path, new URLSearchParams());
    const resource = this.#mirrors.byId(kindId(info));
    if (resource === undefined || info.verb !== "list" || info.parts.length !== 1) {
      throw notFound({ group: info.group, resource: info.resource || path }, "");
    }
    const selectors = selectorsOf(resource.kind, query);
    if (selectors === "pass") throw badRequest("the selector does not parse, or names no field");
    const namespace = resource.kind.namespaced ? info.namespace : "";
    const labels = query.get("labelSelector") ?? "";
    // The answer tells of changes as well, so it takes the right to both.
    const asked = question({ ...info, verb: "list" }, query);
    const questions = [asked, { ...asked, verb: "watch" }];
    const view = (): View => resource.views.get(namespace, labels, selectors);
    return this.#answerPoll(read, { resource, view, zone: "" }, questions);
  }

  async #answerView(read: Asked): Promise<PlainResponse> {
    const { request } = read;
    const [name = "", zone = "", ...more] = request.path.slice(viewsPrefix.length).split("/");
    const named = this.#views.get(name);
    if (named === undefined && this.#viewsOn.some(({ definition }) => definition.name === name)) {
      throw failure(503, "ServiceUnavailable", `the resource of view ${name} is not mirrored yet`);
    }
    if (named === undefined || more.length > 0) {
      throw notFound({ group: "", resource: "views" }, name);
    }
    if (!isPoll(request)) return pollsOnly();
    const poll = { resource: named.resource, view: () => named.view(), zone };
    return this.#answerPoll(read, poll, named.questions());
  }

  async #answerPoll(
    read: Asked,
    poll: Pick<EtagRead, "resource" | "view" | "zone">,
    questions: readonly Question[],
  ): Promise<PlainResponse> {
    const { request, query, door, caller } = read;
    for (const asked of questions) await door.authorize(caller, asked);
    if (!poll.resource.mirror.ready) return notListed(poll.resource);
    if (asksForEvents(request)) this.#streams.admit();
    const allowed = door.recall(request, caller, questions);
    const response = await this.#etag.answer({ ...poll, request, query, allowed });
    return this.#reviewed(response, read, questions);
  }

  #reviewed(
    response: PlainResponse,
    { request, door }: Asked,
    questions: readonly Question[],
  ): PlainResponse {
    const review = async (): Promise<void> => {
      // The credential first: a token may have been revoked, a certificate may have run out.
      const caller = await door.caller(request);
      for (const asked of questions) await door.authorize(caller, asked);
    };
    return reviewed(this.#reviews, response, review);
  }

  /** A client that comes before the first list waits for it, within bounds. */
  async #untilServing(resource: Mirrored, request: PlainRequest): Promise<void> {
    const { mirror } = resource;
    if (mirror.ready && !mirror.closed) return;
    const late = AbortSignal.any([request.signal, this.#stopping.signal]);
    const endMs = this.#deps.clock.monotonicMs() + this.#limits.freshWaitMs;
    while (
      !mirror.ready &&
      !mirror.closed &&
      !late.aborted &&
      this.#deps.clock.monotonicMs() < endMs
    ) {
      await sleep(this.#deps.clock, "relay.fresh", 20, late);
    }
    if (mirror.ready && !mirror.closed) return;
    const text = `the relay has not yet listed ${kindId(resource.kind)} from its upstream`;
    throw failure(503, "ServiceUnavailable", text, { retryAfterSeconds: 1 });
  }
}

function withHeader(response: PlainResponse, name: string, value: string): PlainResponse {
  return { ...response, headers: { ...response.headers, [name]: value } };
}

function question(info: RequestInfo, query: URLSearchParams): Question {
  const { verb, group, version, resource, subresource, namespace, name } = info;
  const fieldSelector = query.get("fieldSelector") ?? "";
  const labelSelector = query.get("labelSelector") ?? "";
  const asked = { verb, group, version, resource, subresource, namespace, name };
  return verb === "get" ? asked : { ...asked, fieldSelector, labelSelector };
}

/** As upstream says of everything that may not be kept by others. */
function uncached(response: PlainResponse): PlainResponse {
  return { ...response, headers: { "cache-control": "no-cache, private", ...response.headers } };
}

function isPoll({ method }: PlainRequest): boolean {
  return method === "GET" || method === "HEAD";
}

function pollsOnly(): PlainResponse {
  const text = "lists and views for pollers take GET and HEAD only\n";
  return textResponse(405, text, { allow: "GET, HEAD" });
}

/** Pollers come again by themselves; none is kept waiting for the first list. */
function notListed({ kind }: Mirrored): PlainResponse {
  const text = `the relay has not yet listed ${kindId(kind)} from its upstream\n`;
  return textResponse(503, text, { "retry-after": "1" });
}
