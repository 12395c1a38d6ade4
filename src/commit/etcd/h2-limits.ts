/**
 * Limits of what a peer may cost the store's HTTP/2, per connection and in total. Each limit states the
 * answer given at it; `test/attacks/store-http2.test.ts` has a test for each.
 */

export interface H2Limits {
  /** Open streams, and reset streams whose call still runs. Beyond it: REFUSED_STREAM. */
  readonly streamsPerConnectionMax: number;
  /** The same for all connections. Beyond it: REFUSED_STREAM, unless the connection has fewer than `streamsReserved`. */
  readonly streamsMax: number;
  /** Streams guaranteed to a connection whatever other connections have open. */
  readonly streamsReserved: number;
  /** Frames that advance no request (`FrameBudget`). Beyond it: GOAWAY with ENHANCE_YOUR_CALM. */
  readonly idleFrames: Allowance;
  /** Stream errors, and resets of streams younger than a second. Beyond it: GOAWAY with ENHANCE_YOUR_CALM. */
  readonly resets: Allowance;
  /** Memory for a connection's incomplete messages. Beyond it: the call fails with RESOURCE_EXHAUSTED. */
  readonly messageRoomBytesMax: number;
  /** The same for all connections. Beyond it: the call that has waited longest fails with RESOURCE_EXHAUSTED. */
  readonly messageRoomTotalBytesMax: number;
  /** Bytes of a connection's unanswered requests. Beyond it: reading stops until some are answered. */
  readonly runningBytesMax: number;
  /** The same for all connections. Beyond it: RESOURCE_EXHAUSTED, unless the connection has no such request. */
  readonly runningTotalBytesMax: number;
  /** Bytes of answers that a peer has not taken. Beyond it: its further calls wait. */
  readonly unreadBytesMax: number;
  /** The same for all connections, including streams' backlogs. Beyond it: GOAWAY to the peer that has taken nothing for longest. */
  readonly unreadTotalBytesMax: number;
  /** Time for preface and SETTINGS, a header block, or a frame to arrive. Beyond it: GOAWAY with ENHANCE_YOUR_CALM. */
  readonly headMs: number;
  /** Time for a message to arrive. Beyond it: the call fails with DEADLINE_EXCEEDED. */
  readonly messageMs: number;
  /** A peer at `unreadBytesMax` must take `stallBytesMin` in this time. Otherwise: GOAWAY with ENHANCE_YOUR_CALM. */
  readonly stallMs: number;
  readonly stallBytesMin: number;
}

/** A token bucket with its size and its refill per second. */
export interface Allowance {
  readonly burst: number;
  readonly perSecond: number;
}

const mebibyte = 2 ** 20;

export const recommendedH2Limits = {
  // Further calls of a client on that connection wait, as HTTP/2 prescribes.
  streamsPerConnectionMax: 10_000,
  // An idle open stream takes 1.7 KB.
  streamsMax: 50_000,
  streamsReserved: 16,
  idleFrames: { burst: 10_000, perSecond: 1000 },
  // node:http2 allows 1000 and 33; here a client may cancel many calls at once.
  resets: { burst: 1000, perSecond: 100 },
  messageRoomBytesMax: 64 * mebibyte,
  messageRoomTotalBytesMax: 128 * mebibyte,
  runningBytesMax: 32 * mebibyte,
  runningTotalBytesMax: 256 * mebibyte,
  unreadBytesMax: 64 * mebibyte,
  unreadTotalBytesMax: 512 * mebibyte,
  headMs: 10_000,
  // Enough for 2 MiB at 35 KB/s.
  messageMs: 60_000,
  stallMs: 60_000,
  stallBytesMin: mebibyte,
} as const satisfies H2Limits;
