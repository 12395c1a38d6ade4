/**
 * Tells when the kinds of the server change: definitions of custom resources that come to be served, change
 * or go. For loops over every kind, which look at discovery every half minute otherwise.
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
