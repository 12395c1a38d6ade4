/** Times and sizes of the aggregator: upstream's where upstream has one. Others have their reason beside them. */

const minute = 60_000;

export const aggregationLimits = {
  /** Upstream: 5 GETs at once, of which one must pass, 5 s each, every 30 s. */
  probes: 5,
  probeMs: 5_000,
  checkEveryMs: 30_000,
  /** Upstream's rate limiter and number of workers for this queue. */
  checkRetryMs: 5,
  checksAtOnce: 5,
  /** Maximum size of a probe's answer, whose content is not used. */
  probeBytesMax: 256 * 1024,
  /** Upstream: discovery each minute, within 5 s, two workers. */
  discoveryMs: 5_000,
  discoveryEveryMs: minute,
  discoveryRetryMs: 500,
  discoveryAtOnce: 2,
  /** Enough for thousands of kinds. Upstream has no bound. */
  discoveryBytesMax: 2 * 1024 * 1024,
  /** Upstream: OpenAPI each minute, within a minute. After failures the interval grows up to an hour. */
  openapiMs: minute,
  openapiEveryMs: minute,
  openapiRetryMs: minute,
  openapiRetryMsMax: 60 * minute,
  openapiAtOnce: 1,
  /** A document is read in one turn of the loop: some 40 ms. Upstream has no bound. */
  openapiBytesMax: 4 * 1024 * 1024,
  /** Maximum size of all remote version 2 documents together. Further ones are not merged. */
  openapiKeptBytesMax: 32 * 1024 * 1024,
  /** Maximum size of the index of version 3. */
  openapiIndexBytesMax: 256 * 1024,
  /** Upstream's time limit for `/apis/G/V` through the proxy. */
  discoveryRequestMs: 5_000,
  /** Time limit from a short request's arrival to the end of its answer's body, as --request-timeout. */
  answerMs: minute,
  /** Maximum size of an upgrade's refusal that is passed on. */
  refusalBytesMax: 65_536,
  /** Maximum size of an answer for a caller in this process. */
  directAnswerBytesMax: 64 * 1024 * 1024,
};

export type AggregationLimits = Readonly<typeof aggregationLimits>;
