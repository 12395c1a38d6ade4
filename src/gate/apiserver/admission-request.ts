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
  /** The same object in all calls about one attempt at one write. */
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
    // Not its signal, which most writes never need: one that is made costs 20 us at the request's end.
    ending: context,
    warn: (text) => context.warnings.add(text),
    annotate: (key, value) => context.audit?.annotate(key, value),
  };
}

/** As upstream's attributes say it to plugins, policies and webhooks alike: a Namespace is in itself. */
function namespaceOf({ place }: RequestContext, { resource }: ServedKind, name: string): string {
  return isNamespaceResource(resource) ? name : place.namespace;
}
