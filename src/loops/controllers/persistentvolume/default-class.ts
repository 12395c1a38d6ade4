/** The StorageClass for claims without one: the newest that is marked; names break a tie. Pure. */
import type { StorageClass } from "#api/gen/types.ts";
import { annotationOf } from "#api/volumes/binding.ts";

const marks = [
  "storageclass.kubernetes.io/is-default-class",
  "storageclass.beta.kubernetes.io/is-default-class",
];

export function defaultClassName(classes: readonly StorageClass[]): string | undefined {
  let best: StorageClass | undefined;
  for (const one of classes) {
    const isDefault = marks.some((mark) => annotationOf(one, mark) === "true");
    if (isDefault && (best === undefined || isBefore(one, best))) best = one;
  }
  return best?.metadata?.name;
}

function isBefore(a: StorageClass, b: StorageClass): boolean {
  const [bornA, bornB] = [a, b].map((one) => one.metadata?.creationTimestamp ?? "");
  if (bornA !== bornB) return (bornA ?? "") > (bornB ?? "");
  return (a.metadata?.name ?? "") < (b.metadata?.name ?? "");
}
