/** The limits `up` runs with: libraries have no defaults of their own, this file decides them. */
import type { LedgerLimits } from "#platform/ledger.ts";

/** History kept at least, for watchers that resume and lists that go on (upstream: 5 min). */
export const compactEverySeconds = 300;

/** Events vanish after an hour, as upstream's --event-ttl. */
export const eventTtlSeconds = 3600;

/** Watches get this long to end, and requests to finish, after SIGTERM. */
export const shutdownMs = 5_000;

/** First address of the service range, which the `kubernetes` Service gets. */
export const serviceAddress = "10.96.0.1";

/** A year, as upstream's --cluster-signing-duration. */
export const signingLifetimeMs = 365 * 24 * 3_600_000;

/** Hollow nodes one process takes; beyond it, start more processes. */
export const nodesMax = 50_000;

/** A minute for short requests, as upstream's --request-timeout. */
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

/** How long a hollow pod shows ContainerCreating: long enough to be seen, short enough not to wait for. */
export const hollowStartMs = 100;

/** Requests to kubelets, pods and Services that are open at once: two sockets each. Beyond it 429. */
export const kubeletStreams = { openMax: 4_096, openPerHostMax: 1_024 };

/** Upstream's 30 s to reach a pod (kubelets: --kubelet-timeout); a head as clients may send one. */
export const kubeletConnections = { connectMs: 30_000, headBytesMax: 65_536, idleSocketsMax: 8 };

/** Requests to aggregated API servers that are open at once, watches included: two sockets each. Beyond it 429. */
export const aggregatedStreams = { openMax: 8_192, openPerHostMax: 4_096 };

/** Upstream's 30 s to reach one; a head as clients may send one. */
export const aggregatedConnections = {
  connectMs: 30_000,
  headBytesMax: 65_536,
  idleSocketsMax: 32,
};

/** From a deletion to the end of a hollow pod that stops when asked to: a kubelet takes one or two seconds. */
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

/** One caller may have one body of the largest size at work, in the smallest heap there is. */
const ledgerBytesMin = 128 * 2 ** 20;

/** Audit lines that wait for the disk: some 30,000; beyond it lines are dropped and counted. */
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

/** Calls to one webhook at once, and those that wait for one to end: more requests than are served at once never come. */
export const webhookCalls = {
  callsMax: 256,
  waitingMax: 1_024,
  /** As a request body may have. */
  answerBytesMax: 3 * 2 ** 20,
};

/** Calls to the conversion webhook of one definition. */
export const conversionCalls = {
  callsMax: 64,
  waitingMax: 1_024,
  /** A batch (below) that grows much, or one object of the largest size. */
  answerBytesMax: 8 * 2 ** 20,
};

/** One call, and those that one list makes at once. */
export const conversionBatches = {
  batchObjectsMax: 500,
  batchBytesMax: 2 ** 20,
  batchesAtOnce: 4,
};

/** What conversion webhooks made, of all definitions: 50,000 objects of 2 KB. */
export const customResources = { convertedBytesMax: 128 * 2 ** 20 };

/** Upstream's 30 s to connect, though a webhook's own timeout nearly always ends it earlier. */
export const webhookConnections = { connectMs: 30_000, headBytesMax: 65_536, idleSocketsMax: 64 };
