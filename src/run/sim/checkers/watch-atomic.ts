/** Atomic: all events of one revision arrive in one message, unless fragments were requested. */
import type { History, Watch } from "./history.ts";

export function watchAtomic(history: History): string[] {
  return history.watches.flatMap((watch) => problemsOf(watch));
}

function problemsOf(watch: Watch): string[] {
  const problems: string[] = [];
  let last = 0;
  let lastFragment = false;
  for (const message of watch.messages) {
    if (message.kind !== "events") continue;
    const first = message.events[0]?.revision ?? 0;
    if (first === last && !lastFragment) {
      problems.push(`watch ${watch.id}: revision ${last} came in parts`);
    }
    if (lastFragment && first !== last) {
      problems.push(`watch ${watch.id}: fragments of ${last} end with ${first}`);
    }
    last = message.events.at(-1)?.revision ?? last;
    lastFragment = message.fragment;
  }
  return problems;
}
