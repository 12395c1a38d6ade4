/**
 * The gate of the server's chain: classifies a request, then gives it a seat, makes it wait or rejects it.
 *
 * In     FlowSchemas and PriorityLevelConfigurations through Lookup (the bootstrap ones until any exist), and the facts
 *        of each request. Out: a seat that must be released, or 429 with Retry-After.
 * Holds  a waiting request leaves in exactly one way: it gets a seat, its time limit passes, or its client disconnects.
 * Time   every `borrowMs`, seats are divided again among the levels by their demand (borrowing.ts).
 * Bounds queues x queue length waiting requests per level; each waits at most `queueWaitMs`.
 * Skips  long-running requests other than watches: their handlers use none of the server's capacity.
 */
import type { FlowSchema, PriorityLevelConfiguration } from "#api/gen/types.ts";
import type { Lister } from "#api/lister.ts";
import type { AnyObject } from "#api/object.ts";
import { must } from "#base/assert.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import type { UserInfo } from "#platform/http.ts";
import type { WaitsFor } from "#platform/pace.ts";
import { bootstrapFlowSchemas, bootstrapPriorityLevels, isMandatory } from "./bootstrap.ts";
import { shareSeats } from "./borrowing.ts";
import { Classifier, distinguisherOf, levelOf, orderSchemas } from "./classify.ts";
import type { FlowFacts } from "./classify.ts";
import type { GateExplanation } from "./explanation.ts";
import type { FairQueueDump, Seating, WorkFacts } from "./fair-queue.ts";
import { Level } from "./level.ts";
import type { LevelState, RejectReason } from "./level.ts";
import { type Share, shareOf } from "./share.ts";
import { hashFlow } from "./shuffle-shard.ts";
import { UserWatches } from "./user-watches.ts";
import { WatchCount } from "./watch-count.ts";
import { estimateWork } from "./work.ts";
import { oneSeat, widthOf, type WorkSize } from "./work-size.ts";
import type { Load } from "./work.ts";

/** A request at the gate. The server's GateRequest has this shape. */
export interface FlowRequest {
  readonly info: FlowFacts;
  readonly user: UserInfo;
  readonly query: URLSearchParams;
  readonly signal: AbortSignal;
}

export type GateAnswer =
  | {
      readonly kind: "seated";
      readonly headers: Readonly<Record<string, string>>;
      /** Releases the seat. Call exactly once. */
      release(): void;
      /** Reports that the answer is made and is being sent. Returns false if the seat must be released now. Call at most once. */
      linger(): boolean;
      /**
       * Reports that the reader of a lingering answer has stalled. Its seats are returned; `release` must still
       * follow. Call at most once.
       */
      stall(): void;
      /** Reports the end of a watch. Idempotent. */
      readonly forget: () => void;
      explain(): GateExplanation;
      /** Reports that the request waits, and does no work until `goOn` is called. */
      rest(waitsFor: WaitsFor): void;
      goOn(): void;
    }
  | {
      readonly kind: "rejected";
      readonly headers: Readonly<Record<string, string>>;
      readonly retryAfterSeconds: number;
      readonly reason: RejectReason;
      /** Message of the refusal. Absent: the usual one. */
      readonly message?: string;
      explain(): GateExplanation;
    };

/** Callbacks about events at the gate, for metrics. */
export interface GateObserver {
  /** A request starts to wait for a seat. `waitingCount`: number of the level's waiting requests, including this one. */
  queued(level: string, schema: string, waitingCount: number): void;
  /** A request ends its wait. A seat or a refusal follows. */
  unqueued(level: string, schema: string): void;
  /** A request gets its seats. `seats`: estimated number of seats that it takes. */
  seated(level: string, schema: string, waitMs: number, seats: number): void;
  rejected(level: string, schema: string, reason: RejectReason, waitMs: number): void;
  finished(level: string, schema: string, executionMs: number, seats: number): void;
}

export interface GateDeps {
  readonly clock: Clock;
  /** Lists the configuration. Absent: the bootstrap configuration applies and does not change. */
  readonly lookup?: Lister;
  /** Number that changes whenever one of the two kinds changes. Absent: changes are noticed every `borrowMs`. */
  readonly configVersion?: () => number;
  readonly load?: Omit<Load, "watchers">;
  readonly observer?: GateObserver;
}

export interface GateConfig {
  /** Number of all seats of the server: upstream's 400 + 200 requests in flight. */
  readonly seats: number;
  /** Maximum time in a queue: a quarter of the request timeout. */
  readonly queueWaitMs: number;
  readonly borrowMs: number;
  /** Maximum number of open watches of a level without a limit of its own (level.ts). Infinity: no limit. Exempt levels have no limit. */
  readonly levelWatchesMax: number;
  /** Maximum number of open watches of one user. Infinity: no limit. Watches at exempt levels do not count. */
  readonly userWatchesMax: number;
  /** This gate's share of these numbers. Other gates have the other shares (share.ts). Absent: this gate has all. */
  readonly share?: Share;
}

/** Upstream's values, for a request timeout of 60 seconds. */
export const gateDefaults: GateConfig = {
  seats: 600,
  queueWaitMs: 15_000,
  borrowMs: 10_000,
  levelWatchesMax: Number.POSITIVE_INFINITY,
  userWatchesMax: Number.POSITIVE_INFINITY,
};

export interface Gate {
  enter(request: FlowRequest): Promise<GateAnswer>;
  /** Returns the states of the levels, for metrics. */
  levels(): readonly LevelState[];
  /** Returns all waiting and executing requests, by name of the level. */
  dump(): readonly LevelDump[];
  close(): void;
}

/** State of a level for the debug pages (dump.ts). */
export interface LevelDump extends LevelState {
  readonly queue: FairQueueDump;
}

export function createGate(deps: GateDeps, config: GateConfig): Gate {
  return new FlowGate(deps, config);
}

const longRunning: ReadonlySet<string> = new Set(["attach", "exec", "log", "portforward", "proxy"]);

class FlowGate implements Gate {
  readonly #deps: GateDeps;
  readonly #config: GateConfig;
  readonly #levels = new Map<string, Level>();
  readonly #watches = new WatchCount();
  readonly #users: UserWatches;
  readonly #load: Load | undefined;
  #classifier = new Classifier([]);
  #version: number | undefined;
  #timer: Timer | undefined;

  constructor(deps: GateDeps, config: GateConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#users = new UserWatches(shareOf(config.userWatchesMax, config.share));
    const watchersOf = (facts: FlowFacts): number => this.#watches.of(facts);
    this.#load = deps.load && { ...deps.load, watchers: watchersOf };
    this.#version = deps.configVersion?.();
    this.#configure();
    this.#arm();
  }

  async enter(request: FlowRequest): Promise<GateAnswer> {
    const { info, user } = request;
    if (isLongRunning(info)) return unlimited;
    this.#refresh();
    const schema = this.#classifier.classify(info, user);
    const level = this.#levelFor(schema);
    const schemaName = schema?.metadata?.name ?? "catch-all";
    const distinguisher = schema === undefined ? "" : distinguisherOf(schema, info, user);
    const flow: Flow = {
      level,
      schema: schemaName,
      distinguisher,
      size: oneSeat,
      forget: () => {},
      headers: {
        "x-kubernetes-pf-flowschema-uid": schema?.metadata?.uid ?? "",
        "x-kubernetes-pf-prioritylevel-uid": level.uid,
      },
    };
    if (info.verb !== "watch") return this.#seat(request, flow);
    const refusal = this.#watchOpens(request, flow);
    if (refusal !== undefined) return this.#reject(flow, "watch-limit", 0, refusal);
    return this.#seat(request, flow);
  }

  /** Counts a watch, already before it waits for its seat. @returns why it is refused, as text for the client. */
  #watchOpens({ info, query, user }: FlowRequest, flow: Flow): string | undefined {
    const { level } = flow;
    if (!level.isExempt && !this.#users.add(user.name)) return tooManyOfUser;
    if (!level.openWatch()) {
      this.#users.delete(user.name);
      return tooManyOfLevel;
    }
    const { isExempt } = level;
    const leave = this.#watches.open(info, query);
    let isOpen = true;
    flow.forget = () => {
      if (!isOpen) return;
      isOpen = false;
      leave();
      level.closeWatch();
      if (!isExempt) this.#users.delete(user.name);
    };
    return undefined;
  }

  levels(): readonly LevelState[] {
    return [...this.#levels.values()].map((level) => level.state());
  }

  dump(): readonly LevelDump[] {
    const levels = [...this.#levels.values()];
    return levels
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((level) => ({ ...level.state(), queue: level.queue.dump() }));
  }

  close(): void {
    this.#timer?.cancel();
  }

  /** Returns the level of a schema. Requests that match no schema use the catch-all level, which is mandatory and so always exists. */
  #levelFor(schema: FlowSchema | undefined): Level {
    const named = schema && this.#levels.get(levelOf(schema));
    return named ?? must(this.#levels.get("catch-all"), "catch-all is mandatory");
  }

  #seat(request: FlowRequest, flow: Flow): Promise<GateAnswer> | GateAnswer {
    const { level } = flow;
    const size = estimateWork(request.info, request.query, this.#load, level.requestSeatsMax);
    flow.size = size;
    const startMs = this.#deps.clock.monotonicMs();
    let seatedLater = (): void => {};
    const { schema, distinguisher } = flow;
    const facts: WorkFacts = {
      schema,
      distinguisher,
      userName: request.user.name,
      info: request.info,
    };
    const work = { ...size, facts, onSeat: () => seatedLater() };
    const seating = level.queue.submit(work, hashFlow(flow.schema, flow.distinguisher));
    if (seating === undefined) return this.#reject(flow, level.refusal, 0);
    // Creating the signal costs more than the seat, so it is only read for requests that wait.
    if (seating.state === "seated") return this.#seated(flow, seating, startMs);
    const { clock, observer } = this.#deps;
    observer?.queued(level.name, flow.schema, level.queue.waiting);
    return new Promise((resolve) => {
      const waiting = this.#wait(request.signal, (reason) => {
        if (!level.queue.cancel(seating)) return;
        observer?.unqueued(level.name, flow.schema);
        resolve(this.#reject(flow, reason, clock.monotonicMs() - startMs));
      });
      seatedLater = () => {
        waiting.stop();
        observer?.unqueued(level.name, flow.schema);
        resolve(this.#seated(flow, seating, startMs));
      };
    });
  }

  #wait(
    signal: AbortSignal,
    giveUp: (reason: RejectReason) => void,
  ): { readonly stop: () => void } {
    const end = (reason: RejectReason) => (): void => {
      stop();
      giveUp(reason);
    };
    const onAbort = end("cancelled");
    const timer = this.#deps.clock.after(
      "flowcontrol.wait",
      this.#config.queueWaitMs,
      end("time-out"),
    );
    const stop = (): void => {
      timer.cancel();
      signal.removeEventListener("abort", onAbort);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    return { stop };
  }

  #seated(flow: Flow, seating: Seating, startMs: number): GateAnswer {
    const { clock, observer } = this.#deps;
    const seatedMs = clock.monotonicMs();
    flow.level.noteSeated();
    const { level, schema, headers, forget } = flow;
    const seats = widthOf(flow.size);
    observer?.seated(level.name, schema, seatedMs - startMs, seats);
    const name = (): string => `${schema} ${flow.distinguisher}`;
    let state: "working" | "lingering" | "stalled" = "working";
    const finish = (): void => {
      level.queue.finish(seating);
      observer?.finished(level.name, schema, clock.monotonicMs() - seatedMs, seats);
    };
    return {
      kind: "seated",
      headers,
      forget,
      release() {
        if (state !== "working") level.leave(name(), seats, state);
        if (state !== "stalled") finish();
      },
      linger() {
        const may = level.linger(name(), seats);
        if (!may) return false;
        state = "lingering";
        level.queue.rest(seating, "turn");
        return true;
      },
      stall() {
        state = "stalled";
        level.stall(name(), seats);
        finish();
      },
      rest: (waitsFor) => level.queue.rest(seating, waitsFor),
      goOn: () => level.queue.goOn(seating),
      explain: () => explanationOf(flow, seatedMs - startMs),
    };
  }

  #reject(flow: Flow, reason: RejectReason, waitMs: number, message?: string): GateAnswer {
    const { level, schema, headers } = flow;
    flow.forget();
    level.noteRejected(reason, this.#deps.clock.nowMs());
    this.#deps.observer?.rejected(level.name, schema, reason, waitMs);
    const { retryAfterSeconds } = level;
    const refused = { kind: "rejected", headers, retryAfterSeconds, reason } as const;
    const explain = (): GateExplanation => explanationOf(flow, waitMs);
    return { ...refused, explain, ...(message !== undefined && { message }) };
  }

  // ---- configuration

  #refresh(): void {
    const version = this.#deps.configVersion?.();
    if (version === this.#version) return;
    this.#version = version;
    this.#configure();
  }

  #configure(): void {
    const levels: readonly PriorityLevelConfiguration[] = this.#objects(
      "prioritylevelconfigurations",
      bootstrapPriorityLevels(),
    );
    const sharesSum = levels.reduce((sum, level) => sum + sharesOf(level), 0);
    for (const object of levels) {
      const name = object.metadata?.name ?? "";
      const shares = sharesOf(object);
      const nominal = sharesSum === 0 ? 0 : Math.ceil((this.#config.seats * shares) / sharesSum);
      const level = this.#levels.get(name) ?? new Level(this.#deps, name);
      const { seats: total, levelWatchesMax, share } = this.#config;
      level.configure(object, {
        nominal: shareOf(nominal, share, name),
        total: shareOf(total, share, name),
        watchesOf: (most) => shareOf(most ?? levelWatchesMax, share, name),
      });
      this.#levels.set(name, level);
    }
    const names = new Set(levels.map((level) => level.metadata?.name ?? ""));
    // Works of a removed level keep their seats until they are done. Its queue ends with them.
    for (const name of this.#levels.keys()) if (!names.has(name)) this.#levels.delete(name);
    const schemas = this.#objects("flowschemas", bootstrapFlowSchemas());
    this.#classifier = new Classifier(orderSchemas(schemas, names));
    this.#share();
  }

  /** Returns the stored objects, with the mandatory ones in their required form. If none are stored, returns all bootstrap objects. */
  #objects(
    resource: string,
    bootstrap: readonly AnyObject[],
  ): readonly FlowSchema[] & readonly PriorityLevelConfiguration[] {
    const group = "flowcontrol.apiserver.k8s.io";
    const stored = this.#deps.lookup?.list({ group, resource }, "") ?? [];
    const names = new Set(stored.map((object) => object.metadata?.name));
    const missing = bootstrap.filter(({ metadata }) => {
      const name = metadata?.name ?? "";
      return stored.length === 0 || (isMandatory(name) && !names.has(name));
    });
    return [...stored, ...missing];
  }

  #arm(): void {
    this.#timer = this.#deps.clock.after("flowcontrol.borrow", this.#config.borrowMs, () => {
      this.#arm();
      if (this.#deps.configVersion === undefined && this.#deps.lookup !== undefined) {
        this.#configure();
      } else {
        this.#share();
      }
    });
  }

  #share(): void {
    const limited: { readonly level: Level; readonly demand: ReturnType<Level["demand"]> }[] = [];
    let remaining = [...this.#levels.values()].reduce((sum, level) => sum + level.nominalSeats, 0);
    for (const level of this.#levels.values()) {
      const demand = level.demand();
      if (level.isExempt) {
        const seats = Math.max(demand.min, demand.highWatermark);
        level.giveSeats(seats);
        remaining -= seats;
      } else limited.push({ level, demand });
    }
    const shares = shareSeats(
      limited.map((entry) => entry.demand),
      remaining,
    );
    for (const [index, { level }] of limited.entries()) level.giveSeats(shares[index] ?? 0);
  }
}

interface Flow {
  readonly level: Level;
  readonly schema: string;
  readonly distinguisher: string;
  /** Estimated size of the request, set once its level is known. */
  size: WorkSize;
  /** Reports the end of a watch. */
  forget: () => void;
  readonly headers: Readonly<Record<string, string>>;
}

/** The texts contain neither level nor numbers, which are only for the operator. Upstream treats names in the same way. */
const tooManyOfLevel =
  "Too many watches are open at this priority level, please try again later.\n";
const tooManyOfUser = "Too many watches of this user are open, please try again later.\n";

function explanationOf({ level, schema, distinguisher, size }: Flow, queuedMs: number) {
  const { seats, finalSeats } = size;
  return { level: level.name, schema, flow: distinguisher, seats, finalSeats, queuedMs };
}

/** Answer to long-running requests. They occupy no seat and belong to no flow. */
const unlimited: GateAnswer = {
  kind: "seated",
  headers: {},
  release: () => {},
  linger: () => false,
  rest: () => {},
  goOn: () => {},
  stall: () => {},
  forget: () => {},
  explain: () => ({ level: "", schema: "", flow: "", seats: 0, finalSeats: 0, queuedMs: 0 }),
};

function sharesOf(level: PriorityLevelConfiguration): number {
  const { limited, exempt } = level.spec ?? {};
  if (level.spec?.type === "Exempt") return exempt?.nominalConcurrencyShares ?? 0;
  return limited?.nominalConcurrencyShares ?? 30;
}

function isLongRunning(info: FlowFacts): boolean {
  return info.verb === "proxy" || (info.isResourceRequest && longRunning.has(info.subresource));
}
