/**
 * The body of /metrics, written in turns: other requests are served between two parts of a large page.
 *
 * The form is text 0.0.4 whatever the request accepts, as the stock programs answer; they know no OpenMetrics.
 */
import { Exposition } from "./exposition.ts";
import type { MetricSet } from "./metric-set.ts";

export const pageType = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
/** Number of chunks of 64 KB written in a turn: a millisecond or two of work. */
const chunksPerTurn = 8;

/** @param turn resolves in a later turn of the loop, when the caller may go on. */
export async function metricsPage(
  metrics: MetricSet,
  turn: () => Promise<void>,
): Promise<readonly Uint8Array[]> {
  const page = new Exposition();
  let turnAt = chunksPerTurn;
  for (const _ of metrics.write(page)) {
    if (page.fullChunks < turnAt) continue;
    turnAt = page.fullChunks + chunksPerTurn;
    await turn();
  }
  return page.chunks();
}
