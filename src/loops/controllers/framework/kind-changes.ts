/**
 * Notifies when the kinds of the server change: when definitions of custom resources are served, changed or removed. It
 * is for controllers over every kind, which otherwise read discovery every half minute.
 */
import type { CustomResourceDefinition } from "#api/gen/types.ts";
import type { InformerSet } from "#client/informer-set.ts";
import { refs } from "./refs.ts";

export function onKindsChanged(informers: InformerSet, changed: () => void): void {
  informers.informer<CustomResourceDefinition>(refs.customresourcedefinitions).addHandler({
    add: (definition) => {
      if (isEstablished(definition)) changed();
    },
    update: (old, definition) => {
      const isOther = old.metadata?.generation !== definition.metadata?.generation;
      if (isOther || isEstablished(old) !== isEstablished(definition)) changed();
    },
    delete: changed,
  });
}

function isEstablished({ status }: CustomResourceDefinition): boolean {
  const conditions = status?.conditions ?? [];
  return conditions.some(({ type, status: is }) => type === "Established" && is === "True");
}
