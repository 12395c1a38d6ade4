/** Every limit of a relay, named; `cmd` sets them. */
import type { RefusalLimits } from "./access/refusal-budget.ts";
import type { JoinLimits } from "./views/joined/join-plan.ts";
import type { ShrinkLimits } from "./mirror/shrink-guard.ts";

/** All limits of a relay. */
export interface RelayLimits extends ShrinkLimits, RefusalLimits, JoinLimits {
  /** Maximum number of history events per resource: a disconnected client can resume within them. */
  readonly ringItemsMax: number;
  readonly ringBytesMax: number;
  /** Maximum number of snapshots kept for paginated lists, per resource. */
  readonly pinnedMax: number;
  /** Maximum size of cached parsed objects and encodings, over all resources. */
  readonly memoBytesMax: number;
  /** Maximum number of mirrored resources; later ones pass through. */
  readonly mirrorsMax: number;
  /** Delay after which a new or changed definition of a custom resource takes effect. */
  readonly definitionSettleMs: number;
  /** Maximum number of gaps in history remembered per resource; with more, history starts after the newest forgotten one. */
  readonly gapsMax: number;
  /** Maximum number of objects per page of a list from the upstream; `pageBytesMax`: maximum size of such a page. */
  readonly pageObjects: number;
  readonly pageBytesMax: number;
  /** Steps of applying a list in one turn of the loop. A step takes one to two microseconds (`mirror/takeover.ts`). */
  readonly listStepsPerTurn: number;
  readonly frameBytesMax: number;
  /** Minimum lifetime of watches at the upstream; the maximum is twice as long, as in client-go. */
  readonly watchSecondsMin: number;
  readonly backoffFirstMs: number;
  readonly backoffMostMs: number;
  /** Maximum number of frames of the previous upstream watch that a resumed one repeats; `overlapMs`: their maximum time before its end. */
  readonly overlapFrames: number;
  readonly overlapMs: number;
  /** Window in which events for busy watchers are gathered into one write; 0: events are written at once. */
  readonly flushMs: number;
  /** Window in which watchers of the latest state get at most one write. */
  readonly latestWindowMs: number;
  readonly bookmarkPeriodMs: number;
  readonly bookmarkSlots: number;
  /** Time a read waits for the stream to deliver the required revision, before the relay lists the upstream. */
  readonly streamWaitMs: number;
  /** Maximum time a read waits in total. */
  readonly freshWaitMs: number;
  /** Maximum time the request for the upstream's newest resourceVersion takes. */
  readonly newestWaitMs: number;
  /** Minimum interval between the starts of verifying lists of one resource. */
  readonly verifyEveryMs: number;
  /** Maximum number of cached identities, and of cached decisions. */
  readonly reviewsMax: number;
  readonly allowedMs: number;
  readonly deniedMs: number;
  /** Time an earlier yes stays valid while the upstream cannot be asked. */
  readonly graceMs: number;
  /** Maximum time a request with an earlier answer waits for a new one. */
  readonly reviewWaitMs: number;
  /** Interval at which open streams are authorised again. */
  readonly reviewStreamsMs: number;
  readonly streamsMax: number;
  /** Maximum number of open upgrades (exec, attach, port-forward). */
  readonly tunnelsMax: number;
  /** Minimum lifetime of watches without timeoutSeconds; the maximum is twice as long. */
  readonly watchMsMin: number;
  /** Maximum size of the body of a request that passes through. */
  readonly requestBytesMax: number;
  /** Maximum size of an answer that is passed on whole; larger ones and streams are passed on piece by piece. */
  readonly wholeBytesMax: number;
  readonly discoveryMs: number;
  readonly discoveryEntriesMax: number;
  readonly discoveryBytesMax: number;
  /** Maximum bytes of large answers in flight over all clients; `largeAnswerBytesMin`: minimum size of a large answer. */
  readonly largeBytesInFlightMax: number;
  readonly largeAnswerBytesMin: number;
  /** Shadow mode: maximum number of upstream requests at once; `shadowBytesMax`: maximum size of a compared answer. */
  readonly shadowsMax: number;
  readonly shadowBytesMax: number;
  /** Maximum number of whole list bodies kept per resource. */
  readonly bodiesMax: number;
  /** Maximum number of ETag views of a resource; the least recently requested one is dropped. */
  readonly viewsMax: number;
  /** Maximum number of zones of a view with their own content; clients in further zones get all rows. */
  readonly zonesMax: number;
  readonly pollMsMax: number;
  readonly pollersMax: number;
  /** Maximum number of notes of when a revision arrived, per resource: two per second while events arrive. */
  readonly passedMax: number;
  /** Time without contact to the upstream after which a mirror makes the relay unready. Undefined: never. */
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
  // Clients behind one address whose tokens expired retry by themselves; 500 invented tokens cost 50 reviews.
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
  // The kernel buffers up to 4 MiB of unsent data per socket: this allows a few hundred such answers.
  largeBytesInFlightMax: 2 ** 30,
  largeAnswerBytesMin: 256 * 1024,
  shadowsMax: 4,
  shadowBytesMax: 64 * 2 ** 20,
  bodiesMax: 16,
  viewsMax: 256,
  zonesMax: 64,
  // A route of 5,000 endpoints has 150 KB; an Ingress of 1,000 paths to Services of 40 endpoints each weighs 43,000.
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
