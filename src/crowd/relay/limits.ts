/** Every limit of a relay, named; `cmd` passes them on. */
import type { RefusalLimits } from "./access/refusal-budget.ts";
import type { JoinLimits } from "./views/joined/join-plan.ts";
import type { ShrinkLimits } from "./mirror/shrink-guard.ts";

/** All of a relay's. */
export interface RelayLimits extends ShrinkLimits, RefusalLimits, JoinLimits {
  /** History per resource: a client that was away resumes while it lasts. */
  readonly ringItemsMax: number;
  readonly ringBytesMax: number;
  /** Snapshots kept for paginated lists, per resource. */
  readonly pinnedMax: number;
  /** Parsed objects and encodings kept, over all resources. */
  readonly memoBytesMax: number;
  /** Mirrored resources; those that come later pass through. */
  readonly mirrorsMax: number;
  /** A new or changed definition of a custom resource counts after this. */
  readonly definitionSettleMs: number;
  /** Gaps in history remembered per resource; beyond them history starts after the newest. */
  readonly gapsMax: number;
  /** Objects per page of a list sent upstream, and the bytes of such a page. */
  readonly pageObjects: number;
  readonly pageBytesMax: number;
  /** Of a list that is taken: in one turn of the loop. A step is a microsecond or two (`mirror/takeover.ts`). */
  readonly listStepsPerTurn: number;
  readonly frameBytesMax: number;
  /** Upstream's watches live this long to twice this long, as client-go's. */
  readonly watchSecondsMin: number;
  readonly backoffFirstMs: number;
  readonly backoffMostMs: number;
  /** A resumed upstream watch repeats the last frames of the previous one: at most this many ... */
  readonly overlapFrames: number;
  readonly overlapMs: number;
  /** Busy watchers are written once per window; 0: at once, always. */
  readonly flushMs: number;
  /** Watchers of the latest state are written at most once per window. */
  readonly latestWindowMs: number;
  readonly bookmarkPeriodMs: number;
  readonly bookmarkSlots: number;
  /** A read waits this long for the stream to bring what it asks for, before the upstream is listed. */
  readonly streamWaitMs: number;
  /** And this long in all. */
  readonly freshWaitMs: number;
  /** The question for the upstream's newest resourceVersion waits this long for its answer. */
  readonly newestWaitMs: number;
  /** Verifying lists of one resource start at least this far apart. */
  readonly verifyEveryMs: number;
  /** Identities and decisions. */
  readonly reviewsMax: number;
  readonly allowedMs: number;
  readonly deniedMs: number;
  /** While the upstream cannot be asked, a yes it gave earlier counts this long. */
  readonly graceMs: number;
  /** A request with such an answer waits at most this long for a new one. */
  readonly reviewWaitMs: number;
  /** Open streams are authorised again this often. */
  readonly reviewStreamsMs: number;
  readonly streamsMax: number;
  /** Open upgrades (exec, attach, port-forward). */
  readonly tunnelsMax: number;
  /** Watches without timeoutSeconds end after this long to twice this long. */
  readonly watchMsMin: number;
  /** Bodies of requests that pass through. */
  readonly requestBytesMax: number;
  /** Answers up to this size are passed on whole, larger ones and streams piece by piece. */
  readonly wholeBytesMax: number;
  readonly discoveryMs: number;
  readonly discoveryEntriesMax: number;
  readonly discoveryBytesMax: number;
  /** Bytes of large answers on their way at once, over all clients, and what counts as large. */
  readonly largeBytesInFlightMax: number;
  readonly largeAnswerBytesMin: number;
  /** Shadow mode: questions to the upstream at once, and the largest answer compared. */
  readonly shadowsMax: number;
  readonly shadowBytesMax: number;
  /** Whole list bodies kept per resource. */
  readonly bodiesMax: number;
  /** ETag views of a resource; the one asked for longest ago goes. */
  readonly viewsMax: number;
  /** Zones of a view that are followed; further ones get everything. */
  readonly zonesMax: number;
  readonly pollMsMax: number;
  readonly pollersMax: number;
  /** Notes of when a revision arrived, per resource: two a second while events arrive. */
  readonly passedMax: number;
  /** A mirror whose upstream has been away for longer makes the relay unready. Absent: never. */
  readonly readyAgeMsMax: number | undefined;
}

export const relayLimits: RelayLimits = {
  ringItemsMax: 100_000,
  ringBytesMax: 64 * 2 ** 20,
  pinnedMax: 16,
  memoBytesMax: 128 * 2 ** 20,
  mirrorsMax: 512,
  definitionSettleMs: 1_000,
  gapsMax: 64,
  pageObjects: 1_000,
  pageBytesMax: 128 * 2 ** 20,
  listStepsPerTurn: 2_048,
  frameBytesMax: 16 * 2 ** 20,
  watchSecondsMin: 300,
  backoffFirstMs: 100,
  backoffMostMs: 30_000,
  overlapFrames: 64,
  overlapMs: 5_000,
  flushMs: 4,
  latestWindowMs: 100,
  bookmarkPeriodMs: 60_000,
  bookmarkSlots: 12,
  streamWaitMs: 100,
  freshWaitMs: 10_000,
  newestWaitMs: 5_000,
  verifyEveryMs: 1_000,
  reviewsMax: 65_536,
  allowedMs: 10_000,
  deniedMs: 5_000,
  graceMs: 3_600_000,
  // A crowd behind one address whose tokens ran out comes by itself again; 500 made-up ones cost 50 questions.
  refusalBurst: 50,
  refusalsPerSecond: 5,
  refusalTotalBurst: 500,
  refusalsTotalPerSecond: 50,
  refusalAddressesMax: 4_096,
  reviewWaitMs: 1_000,
  reviewStreamsMs: 30_000,
  streamsMax: 50_000,
  tunnelsMax: 4_096,
  watchMsMin: 1_800_000,
  requestBytesMax: 16 * 2 ** 20,
  wholeBytesMax: 256 * 1024,
  discoveryMs: 10_000,
  discoveryEntriesMax: 512,
  discoveryBytesMax: 16 * 2 ** 20,
  // The kernel keeps up to 4 MiB per socket of what is on its way: some hundred such answers.
  largeBytesInFlightMax: 2 ** 30,
  largeAnswerBytesMin: 256 * 1024,
  shadowsMax: 4,
  shadowBytesMax: 64 * 2 ** 20,
  bodiesMax: 16,
  viewsMax: 256,
  zonesMax: 64,
  // A route of 5,000 endpoints has 150 KB; an Ingress of 1,000 paths to Services of 40 endpoints each joins 43,000.
  joinedWeightMax: 50_000,
  rowLengthMax: 4 * 2 ** 20,
  rowsPerTurn: 128,
  joinedChangesMax: 50_000,
  joinedChangesLengthMax: 32 * 2 ** 20,
  pollMsMax: 60_000,
  pollersMax: 50_000,
  passedMax: 1_200,
  readyAgeMsMax: undefined,
  shrinkPercentMax: undefined,
  shrinkConfirmMs: 10_000,
};
