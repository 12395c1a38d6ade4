/** The admission attributes of a request. */
import type { AdmissionRequest } from "#admission/admission.ts";
import { type AnyObject, isNamespaceResource } from "#api/object.ts";
import type { RequestContext } from "#server/context.ts";
import type { ServedKind } from "./kind.ts";

interface AdmissionFacts {
  readonly operation: AdmissionRequest["operation"];
  readonly subresource: string;
  readonly name: string;
  readonly object: AnyObject | undefined;
  readonly oldObject: AnyObject | undefined;
  readonly dryRun: boolean;
  /** The same object in all admission calls about one attempt of one write. */
  readonly attempt: object;
  readonly options?: AnyObject;
}

export function admissionRequest(
  context: RequestContext,
  kind: ServedKind,
  facts: AdmissionFacts,
): AdmissionRequest {
  return {
    ...facts,
    verb: context.requestInfo.verb,
    info: kind.resource,
    namespace: namespaceOf(context, kind, facts.name),
    user: context.user,
    // The context and not its signal: most writes never need a signal, and making one costs 20 us.
    ending: context,
    warn: (text) => context.warnings.add(text),
    annotate: (key, value) => context.audit?.annotate(key, value),
  };
}

/** Namespace of the attributes: a Namespace object counts as inside itself, as in upstream's attributes. */
function namespaceOf({ place }: RequestContext, { resource }: ServedKind, name: string): string {
  return isNamespaceResource(resource) ? name : place.namespace;
}
