/** Evaluates namespaceSelector and objectSelector of webhooks and admission policies. */
import type { AdmissionRequest } from "#admission/admission.ts";
import type { Lister } from "#api/lister.ts";
import { type AnyObject, isNamespaceResource } from "#api/object.ts";
import {
  type LabelSelector,
  labelsMatch,
  type LabelSelectorSpec,
  selectorFromLabelSelector,
} from "#api/selectors/label-selector.ts";
import { notFound } from "#api/status.ts";

const namespaces = { group: "", resource: "namespaces" };

/** A compiled selector. Undefined: it matches everything, so labels are not looked up. */
export type Selection = LabelSelector | undefined;

/** Compiles a selector. An absent or empty one selects everything. @throws SelectorError */
export function selectionOf(spec: LabelSelectorSpec | null | undefined): Selection {
  if (spec === undefined || spec === null) return undefined;
  const selector = selectorFromLabelSelector(spec);
  return selector.requirements.length === 0 ? undefined : selector;
}

/** @throws ApiError 404 if the namespace does not exist. */
export function namespaceSelected(
  selection: Selection,
  request: AdmissionRequest,
  lookup: Lister,
): boolean {
  if (selection === undefined) return true;
  const { namespace } = request;
  // Cluster-scoped objects other than namespaces are never exempted.
  if (namespace === "" && !isNamespaceResource(request.info)) return true;
  return labelsMatch(selection, namespaceLabels(request, namespace, lookup));
}

function namespaceLabels(
  request: AdmissionRequest,
  name: string,
  lookup: Lister,
): Readonly<Record<string, string>> | undefined {
  const { operation } = request;
  const isItself = isNamespaceResource(request.info) && request.subresource === "";
  // The cache does not contain the new labels yet. A DELETE does not change labels.
  if (isItself && (operation === "CREATE" || operation === "UPDATE"))
    return request.object?.metadata?.labels;
  const namespace = lookup.get(namespaces, "", name);
  if (namespace === undefined) throw notFound(namespaces, name);
  return namespace.metadata?.labels;
}

/** Returns whether the new or the old object is selected, so that a change of labels cannot evade the selector. */
export function objectSelected(selection: Selection, request: AdmissionRequest): boolean {
  if (selection === undefined) return true;
  return isSelected(selection, request.object) || isSelected(selection, request.oldObject);
}

function isSelected(selection: LabelSelector, object: AnyObject | undefined): boolean {
  return object !== undefined && labelsMatch(selection, object.metadata?.labels);
}
