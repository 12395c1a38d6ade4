/**
 * A relay, put together: mirrors of some resources of one upstream, and the handler that answers from them.
 *
 *   router.ts ─► authentication ─► authorization ─► polls.ts, etag-frontend      lists and views for pollers
 *                                  └► mirrored-reads.ts, kubernetes-frontend     mirrored reads
 *                                  └► discovery cache                        what every client reads first
 *                                  └► pass-through, as that user             everything else
 *
 * Holds  one list and one watch per mirrored resource, for any number of clients; no mirrored object is
 *        shown to a user the upstream did not allow; requests the relay cannot answer exactly pass through.
 * Own paths  /relay/healthz (the process), /relay/load (streams open, for peers), /relay/readyz (every
 *        mirror has its first list, and none is too old), /relay/metrics (who may get /metrics upstream), /etag/...
 *        and /views/... (etag-frontend.ts).
 */
import type { Client } from "#client/client.ts";
import type { ByteTransport } from "#platform/byte-transport.ts";
import { type Clock, sleep } from "#platform/clock.ts";
import type { PlainHandler } from "#platform/http.ts";
import type { Ledger } from "#platform/ledger.ts";
import type { Log } from "#platform/log.ts";
import type { Random } from "#platform/random.ts";
import type { TurnTimes } from "#platform/turn-log.ts";
import { type Audit, AuditTrail } from "#server/audit/trail.ts";
import { describeLedger } from "#server/charges.ts";
import type { MetricSet } from "#metrics/metric-set.ts";
import { FrameJoiner } from "#forms/watch-frames.ts";
import { selectorLimits } from "#server/kept-selectors.ts";
import { SelectorPool } from "#watch/selector-pool.ts";
import { StreamTurns } from "#server/stream-turns.ts";
import { streamDeadlines } from "#server/watch-stream.ts";
import { startBookmarks } from "#watch/bookmarks.ts";
import { MemoPool } from "#forms/memo-pool.ts";
import { Access, type PeerIdentity } from "./access/access.ts";
import { RelayAudit } from "./access/audit.ts";
import { Balance, balance, balanceLimits } from "./fleet/balance.ts";
import { DiscoveryCache } from "./discovery-cache.ts";
import { type EntryPoint, innerEntryPoint, publicEntryPoint } from "./access/entry-point.ts";
import { Fairness } from "./access/fairness.ts";
import { FlowConfiguration, mirroredLoad } from "./access/flow-configuration.ts";
import { EtagFrontend } from "./etag/etag-frontend.ts";
import { LargeResponseLimiter } from "./fleet/large-response-limiter.ts";
import { createGate, type Gate, gateDefaults } from "#flowcontrol/gate.ts";
import { FlowMetrics } from "#flowcontrol/metrics.ts";
import { KubernetesFrontend } from "./kubernetes/kubernetes-frontend.ts";
import type { RelayLimits } from "./limits.ts";
import { watchedForLongTurns } from "./long-turns.ts";
import { LoopGuard } from "./fleet/loop-guard.ts";
import {
  describeLargeResponses,
  describeRefusals,
  describeRelay,
  describeViews,
  RelayMetrics,
} from "./metrics.ts";
import { Mirror } from "./mirror/mirror.ts";
import { createMirrored, type Mirrored } from "./mirror/mirrored.ts";
import { kindId, type MirroredKind } from "./mirror/mirrored-kind.ts";
import { MirroredReads } from "./kubernetes/mirrored-reads.ts";
import { MirrorSet, type MirrorSetDeps } from "./mirror/mirror-set.ts";
import { NamedJoin } from "./views/joined/named-join.ts";
import { NamedView } from "./views/named-view.ts";
import type { XdsLimits } from "./xds/limits.ts";
import { XdsFace } from "./xds/xds-face.ts";
import { OpenStreams } from "./fleet/open-streams.ts";
import { OwnPages } from "./own-pages.ts";
import { Polls } from "./etag/polls.ts";
import type { CustomChoice } from "./mirror/resources.ts";
import { Router, type RouterDeps } from "./router.ts";
import { Shadow } from "./fleet/shadow.ts";
import { reviewDeadlines } from "./access/stream-review.ts";
import { Upstream } from "./mirror/upstream.ts";
import type { ServedView } from "./views/served-view.ts";
import type { ViewDefinition } from "./views/view-definition.ts";

interface RelayDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Ledger that is charged with memory held for clients. */
  readonly ledger: Ledger;
  readonly metrics: MetricSet;
  /** Transport of the mirrors' streams and of reviews. */
  readonly http: ByteTransport;
  /** Transport of requests that pass through; separate, so that many of them cannot keep the mirrors from a connection. */
  readonly passHttp: ByteTransport;
  /**
   * To the upstream as anybody: no credential of the relay's own, neither a token nor a certificate. Never by
   * the socket of serving workers, where who says nothing is the relay itself.
   */
  readonly anonymousHttp: ByteTransport;
  /** Client with the relay's own identity. */
  readonly client: Client;
  /** Returns headers with the relay's own credential; called per request. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly peers: PeerIdentity;
  /** Returns the number of streams of each other relay that answers. Absent: streams are not balanced. */
  readonly peerStreams?: () => Promise<readonly number[]>;
  /** Audit policy and backends. Absent: requests are not logged. */
  readonly audit?: Audit;
  /** Turn times by which the request that held the loop is found. Absent: long turns are not reported. */
  readonly turnTimes?: TurnTimes;
  /** Returns the metrics of all processes of this relay. Absent: this process is the only one. */
  readonly metricsText?: () => Promise<string>;
}

interface RelayOptions {
  readonly resources: readonly MirroredKind[];
  /** Views of the operator's file; the resources of each are among `resources`. */
  readonly views: readonly ViewOn[];
  /** Custom resources whose definitions the relay follows. Absent: only resources that exist at the start are mirrored. */
  readonly custom?: CustomChoice;
  readonly consistency: "verify" | "cache";
  /** Share of the reads answered by the relay that are compared with the upstream's answers. Absent: none. */
  readonly shadowRate?: number;
  readonly limits: RelayLimits;
  /** Number of seats of priority and fairness, for reads answered by the relay. Absent: reads do not queue. */
  readonly seats?: number;
  /** Absent: no discovery service. Its source resources are among `resources`. */
  readonly xds?: XdsLimits;
}

export interface ViewOn {
  readonly definition: ViewDefinition;
  /** Kind of the rows. */
  readonly kind: MirroredKind;
  /** Joined kinds, in the order of the view's inputs. Absent: a view of one resource. */
  readonly joined?: readonly MirroredKind[];
}

export interface Relay {
  readonly handler: PlainHandler;
  /** Handler for the relay's own serving workers, which have already reviewed the request: see entry-point.ts. */
  readonly innerHandler: PlainHandler;
  /** Whether every mirror has its first list, or passes through because it cannot get one. */
  readonly ready: boolean;
  readonly resources: readonly Mirrored[];
  /** Ledger of memory held for clients. The listener asks it whether little more may be held. */
  readonly ledger: Ledger;
  readonly xds: XdsFace | undefined;
  /** Resolves when every mirror has its first list, or when `signal` aborts. */
  untilReady(signal: AbortSignal): Promise<void>;
  /** Ends the streams one by one over `overMs`, so that their clients do not all reconnect at once. */
  drain(overMs: number): Promise<void>;
  stop(): Promise<void>;
}

export function createRelay(deps: RelayDeps, options: RelayOptions): Relay {
  return new RelayServer(deps, options);
}

class RelayServer implements Relay {
  readonly handler: PlainHandler;
  readonly innerHandler: PlainHandler;
  readonly xds: XdsFace | undefined;
  readonly #deps: RelayDeps;
  readonly #limits: RelayLimits;
  readonly #metrics: RelayMetrics;
  /** The given transport, wrapped with the loop guard. */
  readonly #http: ByteTransport;
  readonly #passHttp: ByteTransport;
  readonly #views = new Map<string, ServedView>();
  /** By `kindId`: the newest mirror of the resource. */
  readonly #started = new Map<string, Mirrored>();
  readonly #viewsOn: readonly ViewOn[];
  readonly #mirrors: MirrorSet;
  readonly #streams: OpenStreams;
  readonly #stopping = new AbortController();
  readonly #bookmarks: { stop(): void };
  #gate: Gate | undefined;

  constructor(deps: RelayDeps, options: RelayOptions) {
    const { limits } = options;
    const { clock } = deps;
    this.#deps = deps;
    this.#limits = limits;
    this.#metrics = new RelayMetrics(deps.metrics);
    this.#streams = new OpenStreams(deps, limits);
    this.#viewsOn = options.views;
    const loop = new LoopGuard(deps);
    this.#http = loop.around(deps.http);
    this.#passHttp = loop.around(deps.passHttp);
    const discovery = new DiscoveryCache(deps, limits);
    this.#mirrors = new MirrorSet(
      {
        ...deps,
        start: this.#starter(),
        changed: () => discovery.forget(),
        turned: () => this.xds?.mirrorsTurned(),
      },
      options,
      limits,
    );
    const anonymousHttp = loop.around(deps.anonymousHttp);
    const access = new Access({ ...deps, anonymousHttp }, limits);
    const largeAnswers = new LargeResponseLimiter(deps, limits);
    const door = publicEntryPoint(access);
    this.xds = this.#xdsFace(door, options.xds);
    const { xds } = this;
    const pages = { ...deps, mirrors: this.#mirrors, streams: this.#streams, xds };
    const own = new OwnPages(pages, limits);
    const router = new Router(
      {
        clock,
        log: deps.log,
        ledger: deps.ledger,
        ...this.#audit(),
        loop,
        metrics: this.#metrics,
        own,
        discovery,
        ...this.#frontends(options, largeAnswers),
        pass: { http: this.#passHttp, headers: deps.headers, tunnels: new Set() },
      },
      limits,
    );
    this.handler = watchedForLongTurns(deps, (request) => router.handle(request, door));
    this.innerHandler = (request) => router.handle(request, innerEntryPoint);
    this.#describe(access, largeAnswers);
    void this.#balance();
    this.#bookmarks = startBookmarks(
      { clock, sources: () => this.resources.map(({ mirror }) => mirror) },
      { periodMs: limits.bookmarkPeriodMs, slots: limits.bookmarkSlots },
    );
  }

  get resources(): readonly Mirrored[] {
    return this.#mirrors.all;
  }

  get ledger(): Ledger {
    return this.#deps.ledger;
  }

  get ready(): boolean {
    const { complete, awaited } = this.#mirrors;
    return complete && awaited.every(({ mirror, upstream }) => mirror.ready || upstream.passes);
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
    this.xds?.stop();
    this.#bookmarks.stop();
    this.#gate?.close();
    await this.#mirrors.stop();
  }

  /** Creates the frontends for mirrored reads and for polls, with the parts that both share. */
  #frontends(
    options: RelayOptions,
    largeAnswers: LargeResponseLimiter,
  ): Pick<RouterDeps, "polls" | "reads"> {
    const { clock, random, turnTimes } = this.#deps;
    const limits = this.#limits;
    const streams = this.#streams;
    const mirrors = this.#mirrors;
    const reviews = {
      deadlines: reviewDeadlines(clock),
      everyMs: limits.reviewStreamsMs,
      ended: () => this.#metrics.endedByReview.add([]),
    };
    const shared = {
      clock,
      random,
      streams: {
        deadlines: streamDeadlines(clock),
        joiner: new FrameJoiner(),
        turns: new StreamTurns(clock, turnTimes),
        open: streams.all,
        sent: { events: this.#metrics.eventsOut.cell([]), bytes: this.#metrics.bytesOut },
      },
      metrics: this.#metrics,
      largeAnswers,
      selectors: new SelectorPool(selectorLimits),
      consistency: options.consistency,
    };
    const common = { clock, mirrors, streams, reviews };
    return {
      polls: new Polls({
        ...common,
        views: this.#views,
        definitions: options.views.map(({ definition }) => definition),
        frontend: new EtagFrontend(shared, limits),
      }),
      reads: new MirroredReads(
        {
          ...common,
          frontend: new KubernetesFrontend(shared, limits),
          fairness: this.#fairness(options.seats),
          shadow: this.#shadowing(options.shadowRate ?? 0),
          stopping: this.#stopping.signal,
        },
        limits,
      ),
    };
  }

  /** Undefined: priority and fairness is not configured. */
  #fairness(seats: number | undefined): Fairness | undefined {
    if (seats === undefined) return undefined;
    const { clock, metrics } = this.#deps;
    const observer = new FlowMetrics(metrics);
    const lookup = new FlowConfiguration(this.#mirrors);
    const load = mirroredLoad(() => this.#mirrors.all);
    const deps = { clock, observer, lookup, load, configVersion: lookup.version };
    const gate = createGate(deps, { ...gateDefaults, seats });
    observer.describeLevels(metrics, () => gate.levels());
    this.#gate = gate;
    return new Fairness({ clock, gate });
  }

  #xdsFace(door: EntryPoint, limits: XdsLimits | undefined): XdsFace | undefined {
    if (limits === undefined) return undefined;
    const mirrors = this.#mirrors;
    return new XdsFace({ ...this.#deps, door, mirrors }, limits);
  }

  #audit(): { readonly audit?: RelayAudit } {
    const { audit, ...deps } = this.#deps;
    if (audit === undefined) return {};
    return { audit: new RelayAudit({ ...deps, trail: new AuditTrail({ ...deps, ...audit }) }) };
  }

  #describe(access: Access, largeAnswers: LargeResponseLimiter): void {
    const { metrics, ledger } = this.#deps;
    describeLedger(metrics, ledger);
    describeViews(metrics, () => this.#views.values());
    describeRelay(
      metrics,
      access,
      () => this.resources,
      () => this.#streams.size,
    );
    describeLargeResponses(metrics, largeAnswers);
    describeRefusals(metrics, access);
  }

  /** Undefined: shadow mode is not configured. */
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
    const failed = (error: unknown): void =>
      this.#deps.log.warn("balancing with peers failed", { error: String(error) });
    const rule = new Balance(balanceLimits);
    await balance({ clock, rule, peerStreams, own, letGo, failed }, this.#stopping.signal);
  }

  #starter(): MirrorSetDeps["start"] {
    const { clock } = this.#deps;
    const memos = new MemoPool({ bytesMax: this.#limits.memoBytesMax });
    return (kind, signal) => {
      const dispatched = this.#metrics.dispatched(kind);
      const mirror = new Mirror({ clock, memos, dispatched }, kind, this.#limits);
      const upstream = new Upstream({ ...this.#deps, http: this.#http }, mirror, this.#limits);
      const ended = upstream.run(signal);
      const made = createMirrored({ clock, upstream, signal }, this.#limits);
      this.#startViews(made);
      return { mirrored: made, ended };
    };
  }

  /** Starts the views on the resource of a new mirror; a joined view starts with the last of its resources. */
  #startViews(resource: Mirrored): void {
    const id = kindId(resource.kind);
    this.#started.set(id, resource);
    for (const { definition, kind, joined } of this.#viewsOn) {
      const ids = [kind, ...(joined ?? [])].map(kindId);
      if (!ids.includes(id)) continue;
      const { name } = definition;
      if (joined === undefined) {
        this.#views.set(name, new NamedView(this.#deps, definition, resource, this.#limits));
      } else {
        this.#startJoin(definition, ids);
      }
    }
  }

  #startJoin(definition: ViewDefinition, ids: readonly string[]): void {
    const before = this.#views.get(definition.name);
    if (before instanceof NamedJoin) before.replaced();
    const resources = ids.flatMap((id) => this.#started.get(id) ?? []);
    if (resources.length < ids.length) return;
    this.#views.set(
      definition.name,
      new NamedJoin(this.#deps, definition, resources, this.#limits),
    );
  }
}
