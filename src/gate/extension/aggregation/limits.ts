/** The aggregator's times and sizes: upstream's where it has one, else why. */

const minute = 60_000;

export const aggregationLimits = {
  /** Upstream: 5 GETs at once, of which one must pass, 5 s each, every 30 s. */
  probes: 5,
  probeMs: 5_000,
  checkEveryMs: 30_000,
  /** Upstream's rate limiter of this queue, and its workers. */
  checkRetryMs: 5,
  checksAtOnce: 5,
  /** Of a probe's answer, which nobody reads. */
  probeBytesMax: 256 * 1024,
  /** Upstream: discovery each minute, within 5 s, two workers. */
  discoveryMs: 5_000,
  discoveryEveryMs: minute,
  discoveryRetryMs: 500,
  discoveryAtOnce: 2,
  /** Thousands of kinds; upstream has no bound. */
  discoveryBytesMax: 2 * 1024 * 1024,
  /** Upstream: OpenAPI each minute, within a minute; after failures up to an hour later. */
  openapiMs: minute,
  openapiEveryMs: minute,
  openapiRetryMs: minute,
  openapiRetryMsMax: 60 * minute,
  openapiAtOnce: 1,
  /** Read in one turn of the loop: some 40 ms. Upstream has no bound. */
  openapiBytesMax: 4 * 1024 * 1024,
  /** Of all remote version 2 documents that are kept; further ones are not merged. */
  openapiKeptBytesMax: 32 * 1024 * 1024,
  /** The index of version 3. */
  openapiIndexBytesMax: 256 * 1024,
  /** Upstream's time for `/apis/G/V` through the proxy. */
  discoveryRequestMs: 5_000,
  /** From a short request's arrival to the end of its answer's body: as --request-timeout. */
  answerMs: minute,
  /** A refusal of an upgrade is passed on up to this. */
  refusalBytesMax: 65_536,
  /** A whole answer for a caller in this process. */
  directAnswerBytesMax: 64 * 1024 * 1024,
};

export type AggregationLimits = Readonly<typeof aggregationLimits>;
