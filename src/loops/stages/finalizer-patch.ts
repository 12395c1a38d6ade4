/** Makes a JSON patch for changes of finalizers, as kwok does. */

interface FinalizerChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
  readonly isEmptied: boolean;
}

interface Operation {
  readonly op: "add" | "remove" | "test";
  readonly path: string;
  readonly value?: unknown;
}

const path = "/metadata/finalizers";

/** Returns an empty patch if nothing changes. */
export function finalizerPatch(
  known: readonly string[],
  { add, remove, isEmptied }: FinalizerChange,
): readonly Operation[] {
  const kept = isEmptied ? [] : known.filter((one) => !remove.includes(one));
  const wanted = [...kept, ...add.filter((one) => !kept.includes(one))];
  const isSame = wanted.length === known.length && wanted.every((one, at) => one === known[at]);
  if (isSame) return [];
  // The test makes the patch fail if another client has changed the finalizers meanwhile.
  const guard: Operation[] = known.length > 0 ? [{ op: "test", path, value: known }] : [];
  return wanted.length === 0
    ? [...guard, { op: "remove", path }]
    : [...guard, { op: "add", path, value: wanted }];
}
