/** The admission attributes of a request. */
import type { AdmissionRequest } from "#admission/admission.ts";
import type { AnyObject } from "#api/object.ts";
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
    namespace: context.place.namespace,
    user: context.user,
    warn: (text) => context.warnings.add(text),
  };
}
