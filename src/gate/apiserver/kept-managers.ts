/** Restores managedFields that a plugin broke in mutating admission, with upstream's warning. */
import { managedFieldsFault } from "#api/apply/managers.ts";
import type { AnyObject } from "#api/object.ts";
import type { RequestContext } from "#server/context.ts";

export function keepManagedFields(
  { warnings }: RequestContext,
  before: AnyObject,
  after: AnyObject,
): AnyObject {
  const { managedFields: old } = before.metadata ?? {};
  const { managedFields: next, ...metadata } = after.metadata ?? {};
  if (next === old) return after;
  if (next?.length === 0) return { ...after, metadata };
  const fault = managedFieldsFault(next);
  if (fault === undefined) return after;
  const what = ".metadata.managedFields was in an invalid state after admission";
  const why = "this could be caused by an outdated mutating admission controller";
  warnings.add(`${what}; ${why}; please fix your requests: ${fault}`);
  return {
    ...after,
    metadata: old === undefined ? metadata : { ...metadata, managedFields: old },
  };
}
