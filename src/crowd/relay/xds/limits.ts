/** Every limit of the xDS face, named. */
import type { StreamLimits, TableLimits } from "#xds/limits.ts";

export interface XdsLimits extends StreamLimits, TableLimits {
  /** Open streams; more: RESOURCE_EXHAUSTED. */
  readonly streamsMax: number;
  /** Names that all streams together subscribe to. */
  readonly namesTotalMax: number;
  /** Requests that wait until it is known who sends them; more: RESOURCE_EXHAUSTED. */
  readonly earlyRequestsMax: number;
  /** A stream with more unread is not sent anything until it reads. */
  readonly backlogBytesMax: number;
  /** Streams that are written to in one turn of the loop. */
  readonly streamsPerTurn: number;
  /** Rights are asked about again this often. */
  readonly reviewMs: number;
  /** Collections that are served as they are. */
  readonly collectionsMax: number;
  /** Changes of routes and Gateways in this time are taken together. */
  readonly routesPaceMs: number;
  /** How long objects of the Gateway API count after their definition is gone: one that changed is back by then. */
  readonly forgetMs: number;
  /** A client that knows it forgets a resource that it does not hear of for so long; 0: never. */
  readonly ttlMs: number;
  /** Refusals that /relay/xds shows. */
  readonly refusalsShown: number;
}

export const xdsLimits: XdsLimits = {
  // A client of one mesh names hundreds; each costs some 200 bytes.
  namesMax: 10_000,
  namesTotalMax: 2_000_000,
  // A DNS name and a port are shorter.
  nameLengthMax: 300,
  typesMax: 16,
  scopesMax: 1_024,
  // gRPC clients take 4 MiB.
  responseBytesMax: 1024 * 1024,
  // Half a minute of the largest rate that is measured; a stream behind by more comes back with its versions.
  changesMax: 32_768,
  formerMax: 1_024,
  streamsMax: 50_000,
  earlyRequestsMax: 32,
  backlogBytesMax: 256 * 1024,
  streamsPerTurn: 100,
  reviewMs: 30_000,
  // Each costs its objects once more.
  collectionsMax: 32,
  // A thousand routes take some 20 ms: an author that changes them without end takes a fifth of the loop.
  routesPaceMs: 100,
  forgetMs: 30_000,
  // A client without its relay goes on with what it has.
  ttlMs: 0,
  refusalsShown: 64,
};
