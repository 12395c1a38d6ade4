/**
 * What a peer may cost the store's HTTP/2: per connection and in total. Each limit says what is
 * answered at it; `test/attacks/store-http2.test.ts` has a test of each.
 */

export interface H2Limits {
  /** Streams open, or reset while their call still runs. More: REFUSED_STREAM. */
  readonly streamsPerConnectionMax: number;
  /** The same of all connections. More: REFUSED_STREAM, unless the connection has fewer than `streamsReserved`. */
  readonly streamsMax: number;
  /** Streams that a connection gets whatever the others have open. */
  readonly streamsReserved: number;
  /** Frames that carry no request forward (`FrameBudget`). More: GOAWAY with ENHANCE_YOUR_CALM. */
  readonly idleFrames: Allowance;
  /** Resets of streams younger than a second, and stream errors. More: GOAWAY with ENHANCE_YOUR_CALM. */
  readonly resets: Allowance;
  /** Memory of a connection's messages that are not whole yet. More: RESOURCE_EXHAUSTED to the call. */
  readonly messageRoomBytesMax: number;
  /** The same of all connections. More: RESOURCE_EXHAUSTED to the call that has waited longest. */
  readonly messageRoomTotalBytesMax: number;
  /** Bytes of a connection's requests that wait for their answers. More: nothing is read until some are answered. */
  readonly runningBytesMax: number;
  /** The same of all connections. More: RESOURCE_EXHAUSTED, unless the connection has none. */
  readonly runningTotalBytesMax: number;
  /** Answers that a peer does not take. More: its further calls wait. */
  readonly unreadBytesMax: number;
  /** The same of all connections, streams' backlogs too. More: GOAWAY to the one that has taken nothing for longest. */
  readonly unreadTotalBytesMax: number;
  /** Preface and SETTINGS, a header block or a frame takes no longer to come. Else: GOAWAY with ENHANCE_YOUR_CALM. */
  readonly headMs: number;
  /** A message takes no longer to come. Else: DEADLINE_EXCEEDED to the call. */
  readonly messageMs: number;
  /** A peer at `unreadBytesMax` takes `stallBytesMin` in that time. Else: GOAWAY with ENHANCE_YOUR_CALM. */
  readonly stallMs: number;
  readonly stallBytesMin: number;
}

/** A token bucket: its size, and its refill per second. */
export interface Allowance {
  readonly burst: number;
  readonly perSecond: number;
}

const mebibyte = 2 ** 20;

export const recommendedH2Limits = {
  // Beyond it, a client's further calls on that connection wait, as HTTP/2 says.
  streamsPerConnectionMax: 10_000,
  // An open stream that does nothing takes 1.7 KB.
  streamsMax: 50_000,
  streamsReserved: 16,
  idleFrames: { burst: 10_000, perSecond: 1000 },
  // node:http2 allows 1000 and 33: here a client may give up a crowd of calls at once.
  resets: { burst: 1000, perSecond: 100 },
  messageRoomBytesMax: 64 * mebibyte,
  messageRoomTotalBytesMax: 128 * mebibyte,
  runningBytesMax: 32 * mebibyte,
  runningTotalBytesMax: 256 * mebibyte,
  unreadBytesMax: 64 * mebibyte,
  unreadTotalBytesMax: 512 * mebibyte,
  headMs: 10_000,
  // 2 MiB at 35 KB/s.
  messageMs: 60_000,
  stallMs: 60_000,
  stallBytesMin: mebibyte,
} as const satisfies H2Limits;
