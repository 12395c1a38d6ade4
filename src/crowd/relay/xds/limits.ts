/** Every limit of the xDS face, named. */
import type { StreamLimits, TableLimits } from "#xds/limits.ts";

export interface XdsLimits extends StreamLimits, TableLimits {
  /** Maximum number of open streams; further ones get RESOURCE_EXHAUSTED. */
  readonly streamsMax: number;
  /** Maximum number of names that all streams together subscribe to. */
  readonly namesTotalMax: number;
  /** Maximum number of requests that wait while the caller is identified; further ones get RESOURCE_EXHAUSTED. */
  readonly earlyRequestsMax: number;
  /** Number of unread bytes beyond which a stream is not written to until the client reads. */
  readonly backlogBytesMax: number;
  /** Maximum number of streams written to in one turn of the loop. */
  readonly streamsPerTurn: number;
  /** Interval at which the rights of a stream are reviewed again. */
  readonly reviewMs: number;
  /** Maximum number of collections that are served unchanged. */
  readonly collectionsMax: number;
  /** Window in which changes of routes and Gateways are gathered. */
  readonly routesPaceMs: number;
  /** Time that objects of the Gateway API are kept after their definition is gone; a changed definition is back by then. */
  readonly forgetMs: number;
  /** Time after which a client drops a resource without an update or heartbeat, if it supports this; 0: never. */
  readonly ttlMs: number;
  /** Maximum number of refusals on /relay/xds. */
  readonly refusalsShown: number;
}

export const xdsLimits: XdsLimits = {
  // A client of one mesh subscribes to hundreds of names; each costs some 200 bytes.
  namesMax: 10_000,
  namesTotalMax: 2_000_000,
  // More than a DNS name and a port need.
  nameLengthMax: 300,
  typesMax: 16,
  scopesMax: 1_024,
  // gRPC clients accept 4 MiB.
  responseBytesMax: 1024 * 1024,
  // Half a minute at the largest measured rate; a stream that is further behind reconnects with its versions.
  changesMax: 32_768,
  formerMax: 1_024,
  streamsMax: 50_000,
  earlyRequestsMax: 32,
  backlogBytesMax: 256 * 1024,
  streamsPerTurn: 100,
  reviewMs: 30_000,
  // Each collection holds its objects a second time.
  collectionsMax: 32,
  // A thousand routes take some 20 ms: permanent changes then use a fifth of the loop.
  routesPaceMs: 100,
  forgetMs: 30_000,
  // A client that loses its relay keeps its resources.
  ttlMs: 0,
  refusalsShown: 64,
};
