/**
 * Compaction: requests below the compacted revision get `compacted`, also after restarts; requests at or
 * above every requested compaction are served; a canceled watch gets the true compact revision, and only
 * when it needed events below it.
 */
import type { History, Moment, Operation, Watch } from "./history.ts";
import { eventsOf, firstOf } from "./timeline.ts";

interface Compaction {
  readonly operation: Operation;
  readonly revision: number;
}

export function compaction(history: History): string[] {
  const compactions = history.operations.flatMap((operation): Compaction[] =>
    operation.request.kind === "compact"
      ? [{ operation, revision: operation.request.revision }]
      : [],
  );
  return [
    ...history.operations.flatMap((operation) => readProblems(operation, compactions)),
    ...history.operations.flatMap((operation) => compactProblems(operation, compactions)),
    ...history.watches.flatMap((watch) => watchProblems(watch, compactions)),
  ];
}

/** Returns the highest compaction acknowledged before `moment`. */
function acknowledged(compactions: readonly Compaction[], moment: Moment): number {
  const done = compactions.filter(
    ({ operation: { outcome, returned } }) =>
      outcome.kind === "answered" && returned.order < moment.order,
  );
  return Math.max(0, ...done.map(({ revision }) => revision));
}

/** Returns the highest compaction that may have happened before `moment`. */
function possible(compactions: readonly Compaction[], moment: Moment): number {
  const asked = compactions.filter(
    ({ operation: { outcome, invoked } }) =>
      outcome.kind !== "refused" && invoked.order < moment.order,
  );
  return Math.max(0, ...asked.map(({ revision }) => revision));
}

function readProblems(operation: Operation, compactions: readonly Compaction[]): string[] {
  const { id, request, outcome, invoked, returned } = operation;
  if (request.kind !== "range") return [];
  const { revision } = request;
  const least = acknowledged(compactions, invoked);
  const most = possible(compactions, returned);
  if (outcome.kind === "answered" && revision > 0 && revision < least) {
    return [`read ${id} at ${revision} was served, but ${least} was compacted`];
  }
  if (outcome.kind === "refused" && outcome.why === "compacted" && revision >= most) {
    return [`read ${id} at ${revision} was told compacted, but at most ${most} was`];
  }
  return [];
}

function compactProblems(operation: Operation, compactions: readonly Compaction[]): string[] {
  const { id, request, outcome, invoked, returned } = operation;
  if (request.kind !== "compact") return [];
  const least = acknowledged(compactions, invoked);
  if (outcome.kind === "answered" && request.revision <= least) {
    return [`compaction ${id} at ${request.revision} was done, but ${least} was before`];
  }
  const most = possible(
    compactions.filter((one) => one.operation !== operation),
    returned,
  );
  if (outcome.kind === "refused" && outcome.why === "compacted" && request.revision > most) {
    return [`compaction ${id} at ${request.revision} was told compacted, at most ${most} was`];
  }
  return [];
}

function watchProblems(watch: Watch, compactions: readonly Compaction[]): string[] {
  const at = watch.messages.findIndex(({ kind }) => kind === "compacted");
  const message = watch.messages[at];
  if (message?.kind !== "compacted") return [];
  const { compactRevision } = message;
  const problems: string[] = [];
  if (at !== watch.messages.length - 1) problems.push(`watch ${watch.id} goes on after its end`);
  const least = acknowledged(compactions, watch.asked);
  const most = possible(compactions, message.at);
  if (compactRevision < least || compactRevision > most) {
    problems.push(`watch ${watch.id} was told ${compactRevision}, not in ${least} to ${most}`);
  }
  const next = Math.max(firstOf(watch) ?? 0, (eventsOf(watch).at(-1)?.revision ?? 0) + 1);
  if (next > compactRevision) {
    problems.push(`watch ${watch.id} needs ${next}, but was told compacted ${compactRevision}`);
  }
  return problems;
}
