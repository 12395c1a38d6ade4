/** Conditions of a status: set one, keep the rest, move lastTransitionTime only on a transition. */

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

/** The same array when nothing changes. `next` carries the times of now. */
export function withCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  next: C,
): readonly C[] {
  const old = findCondition(conditions, next.type);
  if (
    old !== undefined &&
    old.status === next.status &&
    old.reason === next.reason &&
    old.message === next.message
  ) {
    return conditions ?? [];
  }
  const lastTransitionTime =
    old?.status === next.status ? old.lastTransitionTime : next.lastTransitionTime;
  const merged = lastTransitionTime === undefined ? next : { ...next, lastTransitionTime };
  if (old === undefined) return [...(conditions ?? []), merged];
  return (conditions ?? []).map((condition) => (condition.type === next.type ? merged : condition));
}

export function withoutCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  type: string,
): readonly C[] {
  return (conditions ?? []).filter((condition) => condition.type !== type);
}
