/**
 * A thread that serves a plane's port: an API server of its own over the process's store, read in this thread
 * (#threads), from a message of the first thread to another that says stop.
 *
 * Wiring only; the rooms do not know that there are others.
 */
import { workerData } from "node:worker_threads";
import { nodeTurnHost } from "#platform/node/http/process-turns.ts";
import { NodeThreadPort } from "#platform/node/thread-port.ts";
import type { LogLevel } from "#platform/node/log.ts";
import type { FromReader, ToReader } from "#threads/messages.ts";
import { Progress } from "#threads/progress.ts";
import { ThreadStore } from "#threads/thread-store.ts";
import { SealedStore } from "#encryption/sealed-store.ts";
import { recommendedOptions } from "#store/options.ts";
import type { Audit } from "#server/audit/trail.ts";
import type { SupervisedHost } from "../../shared/host.ts";
import { threadHost } from "../../shared/node-host.ts";
import type { Parts } from "../../shared/parts.ts";
import { runToEnd, type Started, throwFailure } from "../../shared/role-life.ts";
import type { PlaneOptions } from "../options.ts";
import { openServingThread } from "../plane.ts";
import type { StoreOptions } from "../stores.ts";
import { OwnerLink } from "./owner-link.ts";
import type { SharedOptions, WorkerStart } from "./messages.ts";
import { WorkerAudit } from "./worker-audit.ts";

/** Returns the role's own options, as on its own thread. `audit`: the audit of requests in this thread. */
type WorkerOptionsOf<Flags> = (
  host: SupervisedHost,
  flags: Flags,
  parts: Parts,
  shared: SharedOptions,
) => Promise<Partial<PlaneOptions>>;

const beatMs = 100;

export async function runWorker<Flags extends { readonly logLevel: LogLevel }>(
  optionsOf: WorkerOptionsOf<Flags>,
  policyOf: (host: SupervisedHost, flags: Flags) => Audit["policy"] | undefined,
): Promise<void> {
  // The data needs no check, because the first thread is of the same release as this program.
  const start = workerData as WorkerStart;
  const flags = start.flags as Flags;
  const link = new OwnerLink();
  const host = threadHost(flags, (bug) => link.endOnBug(bug));
  const open = (parts: Parts): Promise<Started> => openWorker(host, { start, flags, link }, parts);
  const openWorker = async (
    { clock }: SupervisedHost,
    given: { readonly start: WorkerStart; readonly flags: Flags; readonly link: OwnerLink },
    parts: Parts,
  ): Promise<Started> => {
    const progress = new Progress(start.progress);
    await parts.open("beat", () => beat(clock, progress, start.index), { close: (end) => end() });
    const policy = policyOf(host, flags);
    const audit = auditOf(start, policy, given.link);
    const own = await optionsOf(host, flags, parts, start.options);
    const options = { ...own, ...start.options, ...shareOf(own, start), ...(audit && { audit }) };
    const store = storeOf(host, start, progress);
    const metricsPage = async () => [new TextEncoder().encode(await link.page())];
    const { failed } = await openServingThread(
      host,
      { ...options, ...store, metricsPage, nodes: 0, loops: "none" },
      link,
      parts.nest("plane"),
    );
    return { text: "", failed };
  };
  try {
    await runToEnd(open, { onFailed: throwFailure, onStop: link.onStop, print: () => {} });
  } catch (error) {
    link.failed(error);
  }
  process.exit(link.exitCode);
}

function beat(clock: SupervisedHost["clock"], progress: Progress, index: number): () => void {
  let timer = clock.after("plane.beat", 0, turn);
  function turn(): void {
    progress.beatAsReader(index);
    timer = clock.after("plane.beat", beatMs, turn);
  }
  return () => timer.cancel();
}

function auditOf(
  { audit: texts }: WorkerStart,
  policy: Audit["policy"] | undefined,
  link: OwnerLink,
): Audit | undefined {
  if (texts === undefined || policy === undefined) return undefined;
  const backend = new WorkerAudit(texts, (events) => link.post({ kind: "events", events }));
  link.onStored = (events, problem) => backend.stored(events, problem);
  return { policy, backends: [backend] };
}

/** Returns this worker's share of seats and watches. All threads share the port. */
function shareOf(
  { serving }: Partial<PlaneOptions>,
  { index, seatHolders: count }: WorkerStart,
): Pick<PlaneOptions, "serving"> {
  if (serving === undefined) throw new Error("a worker's role has serving options");
  return { serving: { ...serving, sharesPort: true, share: { index, count } } };
}

function storeOf(
  host: SupervisedHost,
  { index, count, state, storePort }: WorkerStart,
  progress: Progress,
): Pick<StoreOptions, "openStore" | "registries"> {
  const { slabBytes, watchBatchCommitsMax } = recommendedOptions;
  const port = new NodeThreadPort<FromReader, ToReader>(storePort);
  const atEndOfTurn = (f: () => void): void => nodeTurnHost.nextTurn(f);
  return {
    registries: count,
    openStore: async (_host, atRest) => {
      const deps = { ...host, port, progress, reader: index, atEndOfTurn };
      const store = new ThreadStore(deps, { slabBytes, watchBatchCommitsMax }, state);
      return atRest === undefined ? store : SealedStore.open({ store, atRest, log: host.log });
    },
  };
}
