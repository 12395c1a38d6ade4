/** The limits of `up`. Libraries have no defaults of their own. */
import type { LedgerLimits } from "#platform/ledger.ts";

/** Minimum time that history is kept, for watchers that resume and for lists that continue (upstream: 5 min). */
export const compactEverySeconds = 300;

/** Time to live of events: an hour, as with upstream's --event-ttl. */
export const eventTtlSeconds = 3600;

/** Time after SIGTERM in which watches must end and requests must finish. */
export const shutdownMs = 5_000;

/** First address of the service range, which the `kubernetes` Service gets. */
export const serviceAddress = "10.96.0.1";

/** Maximum lifetime of signed certificates: a year, as with upstream's --cluster-signing-duration. */
export const signingLifetimeMs = 365 * 24 * 3_600_000;

/** Maximum number of hollow nodes per process. For more nodes, start more processes. */
export const nodesMax = 50_000;

/** Timeout of short requests: a minute, as with upstream's --request-timeout. */
export const requestTimeoutMs = 60_000;

export const serviceAddresses = {
  range: "10.96.0.0/16",
  firstNodePort: 30_000,
  lastNodePort: 32_767,
};

/** The store's files: segments of 64 MiB, a checkpoint per 4 MiB of log or half of the state, puts refused below 64 MiB free. */
export const localEngine = {
  segmentBytes: 64 * 2 ** 20,
  checkpointLogBytes: 4 * 2 ** 20,
  freeBytesMin: 64 * 2 ** 20,
};

/**
 * The log of a replicated store: requests as large as etcd takes by default with room for keys, trimmed by 16 MiB, a
 * checkpoint per 32 MiB of log or half of the state. Up to four batches are on
 * their way if one takes longer than 15 ms, as over a network between buildings; callers that were answered together are waited for, 2 ms. A holder that the cluster leaves without an answer for 10 s, three
 * elections, gives up.
 */
export const etcdEngine = {
  partBytes: 1_500_000,
  segmentBytes: 16 * 2 ** 20,
  checkpointLogBytes: 32 * 2 ** 20,
  pace: { appendsMax: 4, besideMs: 15, gatherMs: 2 },
  giveUpMs: 10_000,
  lookMs: 1000,
};

/** Time for which a hollow pod shows ContainerCreating: long enough to be seen, and short enough not to delay work. */
export const hollowStartMs = 100;

/** Maximum number of open requests to kubelets, pods and Services, with two sockets each. Beyond it: 429. */
export const kubeletStreams = { openMax: 4_096, openPerHostMax: 1_024 };

/** Limits of connections to pods: upstream's 30 s (kubelets: --kubelet-timeout), and heads as large as clients'. */
export const kubeletConnections = { connectMs: 30_000, headBytesMax: 65_536, idleSocketsMax: 8 };

/** Maximum number of open requests to aggregated API servers, watches included, with two sockets each. Beyond it: 429. */
export const aggregatedStreams = { openMax: 8_192, openPerHostMax: 4_096 };

/** Limits of connections: upstream's 30 s to connect, and heads as large as clients'. */
export const aggregatedConnections = {
  connectMs: 30_000,
  headBytesMax: 65_536,
  idleSocketsMax: 32,
};

/** Time from a deletion to the end of a hollow pod that stops on request. A kubelet takes one or two seconds. */
export const hollowStopMs = 1_000;

/**
 * What requests, answers and watches may hold in sum, of a heap of this size: a quarter, for what is charged is
 * partly off the heap, and the caches of 50,000 pods take a quarter. One caller may hold a quarter of
 * that (17 bodies of the largest size at work, 80 answers of 3 MB that nobody reads, 65,000 watches of a heap of 4 GB), one
 * namespace half. The reserve serves hundreds of callers that hold up to a megabyte each.
 */
export function ledgerLimits(heapBytesMax: number): LedgerLimits {
  const totalBytesMax = Math.max(ledgerBytesMin, Math.floor(heapBytesMax / 4));
  return {
    totalBytesMax,
    callerBytesMax: totalBytesMax / 4,
    namespaceBytesMax: totalBytesMax / 2,
    reservedBytes: totalBytesMax / 4,
    smallBytesMax: 2 ** 20,
    sharedAnswerBytesMax: 64 * 2 ** 20,
    accountsMax: 65_536,
  };
}

/**
 * Of a relay: its whole lists are shared by a crowd that is often one user, and bounded by
 * `largeBytesInFlightMax` in full.
 */
export function relayLedgerLimits(heapBytesMax: number): LedgerLimits {
  return { ...ledgerLimits(heapBytesMax), sharedAnswerBytesMax: 4 * 2 ** 20 };
}

/** Minimum with which one caller may have one body of the largest size in progress, in the smallest heap. */
const ledgerBytesMin = 128 * 2 ** 20;

/** Maximum bytes of audit lines that wait for the disk: some 30,000 lines. Further lines are dropped and counted. */
export const auditBufferBytesMax = 16 * 2 ** 20;

/**
 * Threads that read YAML bodies of more than 4 KiB. 3 MiB of plain manifests take 4 s; the heap is what
 * such a body takes, three times.
 */
export const yamlThreads = {
  threadsMax: 1,
  waitingMax: 16,
  taskMs: 10_000,
  idleMs: 30_000,
  heapBytesMax: 1024 * 2 ** 20,
};

/**
 * Threads for expressions and large definitions that take more than some 10 ms. All rules of an object may cost what
 * takes a second or two; the heap is what such objects and what is made of them take.
 */
export const expressionThreads = { ...yamlThreads, threadsMax: 1 };

/** Maximum number of concurrent and of waiting calls to one webhook. The server never has more requests at once. */
export const webhookCalls = {
  callsMax: 256,
  waitingMax: 1_024,
  /** The same as for a request body. */
  answerBytesMax: 3 * 2 ** 20,
};

/** Limits of calls to the conversion webhook of one definition. */
export const conversionCalls = {
  callsMax: 64,
  waitingMax: 1_024,
  /** Enough for a batch (below) that grows much, or for one object of the largest size. */
  answerBytesMax: 8 * 2 ** 20,
};

/** Limits of one call, and number of concurrent calls for one list. */
export const conversionBatches = {
  batchObjectsMax: 500,
  batchBytesMax: 2 ** 20,
  batchesAtOnce: 4,
};

/** Maximum bytes of cached results of conversion webhooks, for all definitions: 50,000 objects of 2 KB. */
export const customResources = { convertedBytesMax: 128 * 2 ** 20 };

/** Timeout of connections: upstream's 30 s. A webhook's own timeout nearly always ends the call earlier. */
export const webhookConnections = { connectMs: 30_000, headBytesMax: 65_536, idleSocketsMax: 64 };
