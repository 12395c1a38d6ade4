/** Canceled: after the cancel message of a watch, no further message of that watch arrives. */
import type { History } from "./history.ts";

export function watchCanceled(history: History): string[] {
  return history.watches.flatMap(({ id, messages }) => {
    const at = messages.findIndex(({ kind }) => kind === "canceled");
    if (at === -1 || at === messages.length - 1) return [];
    return [`watch ${id} goes on after it was canceled: ${JSON.stringify(messages[at + 1])}`];
  });
}
