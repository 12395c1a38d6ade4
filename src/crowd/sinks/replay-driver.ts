/**
 * A driver that sends again what consumers of a sink have read. It moves the sink's own position back before the first
 * event, so a replay that ends early, or before the newest event, is completed by the sink's next ordinary session.
 *
 * R1  Nothing moves in a sink that has never been written from one of the sources. A source that stands before the
 *     replay's beginning goes on from where it stands, so that no event is left out.
 * R2  History that is gone ends a replay with an error: no difference is written in its place.
 * R3  `over` aborts once the last record of each source has landed, or when the replay cannot continue.
 */
import type { Clock } from "#platform/clock.ts";
import { withinDeadline } from "./append-deadline.ts";
import { Deltas } from "./deltas.ts";
import { encodeTold } from "./formats.ts";
import { comparing, parsePosition } from "./position.ts";
import {
  SinkConfigError,
  type SinkDriver,
  type SinkRecord,
  type SinkSession,
} from "./sink-driver.ts";
import type { Replay, SinkSource } from "./source-reader.ts";

export type ReplayedSource = SinkSource & { readonly replay: Replay };

interface ReplayDeps {
  readonly clock: Clock;
  /** Called for each batch that has landed. */
  readonly onLanded: (records: readonly SinkRecord[]) => void;
}

export class ReplayDriver implements SinkDriver {
  readonly target: string;
  readonly atLeastOnce: boolean;
  readonly #deps: ReplayDeps;
  readonly #driver: SinkDriver;
  readonly #sources: ReadonlyMap<string, ReplayedSource>;
  readonly #over = new AbortController();
  readonly #done = new Set<string>();
  /** Sources that stand before the replay's beginning: they go on as in an ordinary session. */
  readonly #unread = new Set<string>();
  #hasBegun = false;
  #failure: Error | undefined;

  constructor(deps: ReplayDeps, driver: SinkDriver, sources: readonly ReplayedSource[]) {
    this.#deps = deps;
    this.#driver = driver;
    this.#sources = new Map(sources.map((source) => [source.name, source]));
    this.target = driver.target;
    this.atLeastOnce = driver.atLeastOnce;
  }

  get over(): AbortSignal {
    return this.#over.signal;
  }

  /** The reason why the replay could not continue. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  async open(names: readonly string[], signal: AbortSignal): Promise<SinkSession> {
    const session = await this.#driver.open(names, signal);
    try {
      const positions = new Map(session.positions);
      if (!this.#hasBegun) await this.#begin(session, positions);
      return this.#wrap(session, this.#shown(positions));
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  /** Moves the sink to the replay's beginning, and `positions` with it. */
  async #begin(session: SinkSession, positions: Map<string, string>): Promise<void> {
    const marks = [...this.#sources.values()].map((source) => {
      const at = positions.get(source.name);
      const position = beginningOf(source, at);
      if (position === at) this.#unread.add(source.name);
      return markOf(source, position);
    });
    await withinDeadline(this.#deps.clock, session.append(marks));
    for (const { source, position } of marks) positions.set(source, position);
    this.#hasBegun = true;
  }

  /** Positions for the readers: without one a reader sends the whole state. */
  #shown(positions: Map<string, string>): Map<string, string> {
    for (const [name, { replay }] of this.#sources) {
      const at = positions.get(name);
      if (replay.kind === "history" && at === replay.until) this.#finished(name);
      if (replay.kind !== "state") continue;
      if (parsePosition(at) === undefined) positions.delete(name);
      else this.#finished(name);
    }
    return positions;
  }

  #wrap(session: SinkSession, positions: ReadonlyMap<string, string>): SinkSession {
    return {
      positions,
      inFlightMax: session.inFlightMax,
      known: (name) => {
        const isOfState = this.#sources.get(name)?.replay.kind === "state";
        if (isOfState || this.#unread.has(name)) return session.known(name);
        return Promise.reject(this.#lost(name));
      },
      append: async (records) => {
        await session.append(records);
        this.#landed(records);
      },
      close: () => session.close(),
    };
  }

  #lost(name: string): Error {
    this.#failure ??= new Error(
      `the API server dropped the history of ${name} during the replay, which ends incomplete: the sink's next start writes the difference`,
    );
    this.#over.abort();
    return this.#failure;
  }

  #landed(records: readonly SinkRecord[]): void {
    this.#deps.onLanded(records);
    for (const { type, source, resourceVersion } of records) {
      const replay = this.#sources.get(source)?.replay;
      const isLast =
        replay?.kind === "history"
          ? type === "POSITION" && resourceVersion === replay.until
          : type === "SNAPSHOT_END";
      if (isLast) this.#finished(source);
    }
  }

  #finished(name: string): void {
    this.#done.add(name);
    if (this.#done.size === this.#sources.size) this.#over.abort();
  }
}

/** Returns the position at which the source's replay begins. Throws SinkConfigError when none was read. */
function beginningOf({ name, replay }: ReplayedSource, at: string | undefined): string {
  if (at === undefined) {
    throw new SinkConfigError(`nothing of ${name} was written to it, so nothing can be sent again`);
  }
  if (replay.kind === "state") return comparing;
  const position = parsePosition(at);
  if (position === undefined) {
    throw new SinkConfigError(
      `the state of ${name} is not completely written: run the sink until it is, or use --all`,
    );
  }
  return BigInt(replay.from) <= BigInt(position.resourceVersion) ? replay.from : at;
}

function markOf({ name, encoding, route, replay }: ReplayedSource, position: string): SinkRecord {
  const resourceVersion = replay.kind === "history" ? replay.from : "";
  const id = `${name}/POSITION/${resourceVersion}`;
  const nothing = { namespace: "", name: "", object: undefined, json: undefined };
  const told = { type: "POSITION", id, resourceVersion, ...nothing } as const;
  return {
    type: "POSITION",
    source: name,
    position,
    key: "",
    uid: "",
    resourceVersion,
    id,
    route: route.ofMarks(encoding.ref),
    value: encodeTold(encoding, told, new Deltas()),
  };
}
