/** `pilothouse sink replay`: sends again what the consumers of a file's sinks read, while it holds the sinks' Lease. */
import { MetricSet } from "#metrics/metric-set.ts";
import { ReplayDriver, type ReplayedSource } from "#sinks/replay-driver.ts";
import { Sink, type SinkDefinition } from "#sinks/sink.ts";
import type { RecordType, SinkRecord } from "#sinks/sink-driver.ts";
import type { DeclaredSink } from "#sinks/sink-file.ts";
import { SinkMetrics } from "#sinks/sink-metrics.ts";
import { newestRevisions, oldestRevision } from "#sinks/source-history.ts";
import type { Replay, SinkSource } from "#sinks/source-reader.ts";
import type { Client } from "#client/client.ts";
import { apiAccess, ApiConnection, paceOf } from "../shared/api-access.ts";
import { nodeHost } from "../shared/node-host.ts";
import type { SupervisedHost } from "../shared/host.ts";
import { productVersion } from "../shared/product.ts";
import { checkElectionTimes } from "../shared/elected-role.ts";
import type { ApiFlags, LeaseFlags } from "../shared/role-flags.ts";
import { onStopSignal } from "../shared/stop-signal.ts";
import { UsageError } from "../shared/usage-error.ts";
import { withLease } from "./hold-lease.ts";
import { makeDriver } from "./make-driver.ts";
import { definitionOf, kindOf, parseSinks } from "./sinks.ts";

export interface ReplayFlags extends ApiFlags, LeaseFlags {
  readonly all?: boolean;
  readonly fromRevision?: string;
  readonly until?: string;
  /** Name of the one sink to replay. Absent: all sinks of the file. */
  readonly sink?: string;
}

type ReplayDeps = SupervisedHost & { readonly client: Client };

interface Prepared {
  readonly definition: SinkDefinition;
  readonly sources: readonly ReplayedSource[];
}

const keepAliveMs = 60_000;
const progressMs = 2_000;

export async function replaySinks(file: string, flags: ReplayFlags): Promise<void> {
  checkFlags(flags);
  checkElectionTimes(flags);
  const sinks = chosenSinks(file, flags.sink);
  const host = nodeHost(flags);
  const connection = await connect(host, flags);
  const stopping = new AbortController();
  const forget = onStopSignal(() => stopping.abort());
  // The platform's timers do not keep a process alive.
  const keepAlive = setInterval(() => {}, keepAliveMs);
  try {
    const deps = { ...host, client: connection.client() };
    const work = (signal: AbortSignal): Promise<void> => replayAll(deps, sinks, flags, signal);
    await withLease(deps, flags, work, stopping.signal);
    if (stopping.signal.aborted) throw new UsageError("stopped: the replay is incomplete");
  } finally {
    connection.close();
    clearInterval(keepAlive);
    forget();
  }
}

async function connect({ clock }: SupervisedHost, flags: ApiFlags): Promise<ApiConnection> {
  const userAgent = `sink/pilothouse-${productVersion}`;
  return new ApiConnection(await apiAccess(flags), userAgent, paceOf(clock, flags));
}

function checkFlags({ all = false, fromRevision, until }: ReplayFlags): void {
  if (all === (fromRevision !== undefined)) {
    throw new UsageError("give one of --from-revision and --all");
  }
  if (until === undefined) return;
  if (fromRevision === undefined) throw new UsageError("--until needs --from-revision");
  if (BigInt(until) <= BigInt(fromRevision)) {
    throw new UsageError("--until must be a later revision than --from-revision");
  }
}

function chosenSinks(file: string, name: string | undefined): readonly DeclaredSink[] {
  const sinks = parseSinks(file);
  if (name === undefined) return sinks;
  const chosen = sinks.filter((sink) => sink.name === name);
  if (chosen.length === 0) throw new UsageError(`${file} has no sink ${name}`);
  return chosen;
}

/** Replays one sink after another, once the history of all of them has been found. */
async function replayAll(
  deps: ReplayDeps,
  sinks: readonly DeclaredSink[],
  flags: ReplayFlags,
  signal: AbortSignal,
): Promise<void> {
  const prepared: Prepared[] = [];
  for (const sink of sinks) prepared.push(await prepare(deps, sink, flags, signal));
  for (const one of prepared) {
    if (signal.aborted) return;
    if (one.sources.length > 0) await replay(deps, one, signal);
    else new Progress(deps, one.definition.name).print("complete");
  }
}

async function prepare(
  deps: ReplayDeps,
  declared: DeclaredSink,
  flags: ReplayFlags,
  signal: AbortSignal,
): Promise<Prepared> {
  const kinds: string[] = [];
  for (const { ref } of declared.resources) kinds.push(await kindOf(deps.client, ref));
  const definition = definitionOf(declared, makeDriver(deps, declared), kinds);
  const sources: ReplayedSource[] = [];
  for (const source of definition.sources) {
    const replay = await replayOf(deps, source, flags, signal);
    if (replay !== undefined) sources.push({ ...source, replay });
  }
  return { definition, sources };
}

/** Undefined: nothing has happened since the revision. Throws UsageError for those that the API server cannot send. */
async function replayOf(
  deps: ReplayDeps,
  source: SinkSource,
  { fromRevision: from, until }: ReplayFlags,
  signal: AbortSignal,
): Promise<Replay | undefined> {
  if (from === undefined) return { kind: "state" };
  const { api, watched } = await newestRevisions(deps, source, signal);
  for (const revision of [from, until ?? from]) {
    if (BigInt(revision) <= BigInt(api)) continue;
    throw new UsageError(`revision ${revision} is not there yet: ${source.name} is at ${api}`);
  }
  const last = until === undefined || BigInt(until) > BigInt(watched) ? watched : until;
  const replay = { kind: "history", from, until: last } as const;
  if (BigInt(from) >= BigInt(last)) return undefined;
  const oldest = await oldestRevision(deps, source, { from, newest: watched }, signal);
  if (oldest === from) return replay;
  throw new UsageError(
    `the history of ${source.name} since revision ${from} is gone (410): the oldest revision that can be had is ${oldest}`,
  );
}

async function replay(
  deps: ReplayDeps,
  { definition, sources }: Prepared,
  signal: AbortSignal,
): Promise<void> {
  const { name } = definition;
  const progress = new Progress(deps, name);
  const onLanded = progress.landed.bind(progress);
  const driver = new ReplayDriver({ clock: deps.clock, onLanded }, definition.driver, sources);
  const metrics = new SinkMetrics(new MetricSet(), () => deps.clock.monotonicMs());
  const sink = new Sink({ ...deps, metrics }, { name, sources, driver });
  try {
    await sink.run(AbortSignal.any([signal, driver.over]));
    if (driver.failure !== undefined) throw driver.failure;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new UsageError(`sink ${name}: ${text}`, { cause: error });
  }
  progress.print(driver.over.aborted ? "complete" : "stopped");
}

/** Counts of the records that landed, printed while they do. */
class Progress {
  readonly #deps: ReplayDeps;
  readonly #sink: string;
  readonly #counts = new Map<RecordType, number>();
  #at = "";
  #printedMs: number;

  constructor(deps: ReplayDeps, sink: string) {
    this.#deps = deps;
    this.#sink = sink;
    this.#printedMs = deps.clock.monotonicMs();
  }

  landed(records: readonly SinkRecord[]): void {
    for (const { type, source, resourceVersion } of records) {
      this.#counts.set(type, (this.#counts.get(type) ?? 0) + 1);
      this.#at = `${source} at ${resourceVersion}`;
    }
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#printedMs < progressMs) return;
    this.#printedMs = nowMs;
    this.print("sending");
  }

  print(state: string): void {
    const of = (type: RecordType): number => this.#counts.get(type) ?? 0;
    const counts = `${of("ADDED")} added, ${of("MODIFIED")} modified, ${of("DELETED")} deleted`;
    const at = this.#at === "" ? "" : `; ${this.#at}`;
    process.stdout.write(`sink ${this.#sink}: ${state}: ${counts}${at}\n`);
  }
}
