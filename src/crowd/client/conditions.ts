/** Conditions of a status: set one, keep the rest, move lastTransitionTime only on a transition. */
import { jsonEqual } from "#api/json/json-value.ts";

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastUpdateTime?: string;
}

export function findCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Fields in which two equal conditions may differ. */
const timeFields = ["lastTransitionTime", "lastUpdateTime", "lastProbeTime", "lastHeartbeatTime"];

/** Returns the same array when only times would change. `next` has the current times. */
export function withCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  next: C,
): readonly C[] {
  const old = findCondition(conditions, next.type);
  if (old !== undefined && isSameContent(old, next)) return conditions ?? [];
  const lastTransitionTime =
    old?.status === next.status ? old.lastTransitionTime : next.lastTransitionTime;
  const merged = lastTransitionTime === undefined ? next : { ...next, lastTransitionTime };
  if (old === undefined) return [...(conditions ?? []), merged];
  return (conditions ?? []).map((condition) => (condition.type === next.type ? merged : condition));
}

/**
 * Like `withCondition`, but a new message alone is no change, and a changed condition moves to the end. For statuses of
 * Deployments, in whose lists the condition that changed last is last.
 */
export function withReason<C extends Condition>(
  conditions: readonly C[] | undefined,
  next: C,
): readonly C[] {
  const old = findCondition(conditions, next.type);
  if (old?.status === next.status && old.reason === next.reason) return conditions ?? [];
  const merged = findCondition(withCondition(conditions, next), next.type) ?? next;
  return [...withoutCondition(conditions, next.type), merged];
}

function isSameContent(a: Condition, b: Condition): boolean {
  const content = (condition: Condition): unknown =>
    Object.fromEntries(Object.entries(condition).filter(([field]) => !timeFields.includes(field)));
  return jsonEqual(content(a), content(b));
}

export function withoutCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  type: string,
): readonly C[] {
  return (conditions ?? []).filter((condition) => condition.type !== type);
}
