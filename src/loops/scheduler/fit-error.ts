/** The reasons why no node fits a Pod, in upstream's words, as `kubectl describe pod` shows them. */
import { reasonOf } from "./reasons.ts";

export interface FitError {
  readonly nodeCount: number;
  /** By reason id: number of refused nodes. */
  readonly counts: ReadonlyMap<number, number>;
  /** Set when the Pod was refused as a whole, before any node was examined. */
  readonly whole: string | undefined;
  /** The plugins that refused the Pod; a retry is useful only after one of their verdicts may have changed. */
  readonly plugins: ReadonlySet<string>;
}

const noNodesText = "no nodes available to schedule pods";

export function fitErrorText(error: FitError): string {
  if (error.nodeCount === 0) return noNodesText;
  const head = `0/${error.nodeCount} nodes are available`;
  if (error.whole !== undefined) return `${head}: ${error.whole}.`;
  return `${head}: ${reasonTexts(error.counts).join(", ")}.`;
}

/** Returns texts such as `2 Insufficient cpu`, sorted as strings, as upstream does. */
function reasonTexts(counts: ReadonlyMap<number, number>): string[] {
  // Two reasons may have the same text, when preemption may help for only one of them.
  const byText = new Map<string, number>();
  for (const [id, count] of counts) {
    const { text } = reasonOf(id);
    byText.set(text, (byText.get(text) ?? 0) + count);
  }
  const texts = [...byText].map(([text, count]) => `${count} ${text}`);
  return texts.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}
