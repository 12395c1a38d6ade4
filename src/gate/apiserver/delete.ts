/** DELETE of one object: options from body or query, then the object or a Status as the answer. */
import type { AnyObject } from "#api/object.ts";
import type { Status } from "#api/status.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { DeleteResult } from "#registry/resource-store.ts";
import type { RequestContext } from "#server/context.ts";
import type { Place } from "#server/place.ts";
import { admissionRequest } from "./admission-request.ts";
import { answerCached, answerStatus, formFor } from "./answer.ts";
import { readDocument } from "./body.ts";
import type { ApiDeps } from "./deps.ts";
import { type DeleteQuery, deleteQuery } from "./delete-options.ts";
import { notePatch } from "./request-note.ts";
import type { StoredKind } from "./stored-kind.ts";

/** Kinds whose deletion answers with the object even after its removal. */
const answersWithObject = new Set([
  "csidrivers",
  "csinodes",
  "resourceclaims",
  "persistentvolumeclaims",
  "persistentvolumes",
  "pods",
  "podtemplates",
  "resourcequotas",
  "serviceaccounts",
  "services",
  "storageclasses",
  "volumeattachments",
]);

export async function handleDelete(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const form = formFor(context, kind);
  const query = await readDeleteQuery(deps, context);
  warnOfOrphans(context, kind, query);
  const result = await deleteOne(deps, context, kind, query, context.place);
  const orphaning = query.options.orphanDependents;
  const status = result.kind === "pending" && orphaning === false ? 202 : 200;
  const whole = answersWithObject.has(kind.resource.resource);
  if (result.kind === "pending" || whole) {
    return answerCached(context, kind, form, status, result.object);
  }
  return answerStatus(context, form, status, makeDeletedStatus(kind, result.object.object));
}

/** Warns that the pods of a Job stay by default when the Job is deleted. */
export function warnOfOrphans(
  context: RequestContext,
  { resource: { group, resource } }: StoredKind,
  { options }: DeleteQuery,
): void {
  if (group !== "batch" || resource !== "jobs") return;
  if (options.propagationPolicy !== undefined || options.orphanDependents !== undefined) return;
  context.warnings.add(
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
  );
}

/** @throws ApiError 400, 413, 415, 422. */
export async function readDeleteQuery(
  deps: ApiDeps,
  context: RequestContext,
): Promise<DeleteQuery> {
  const document = await readDocument(context, deps.bodies, "DeleteOptions", false);
  const body = document?.value;
  // Any JSON object is accepted: fields that are not in DeleteOptions are ignored, as upstream.
  const options = typeof body === "object" && body !== null ? (body as AnyObject) : undefined;
  if (options !== undefined) notePatch(context, { ...typeOfOptions, ...options });
  return deleteQuery(options, context.query);
}

/** Upstream records the options in its internal version. */
const typeOfOptions = { kind: "DeleteOptions", apiVersion: "meta.k8s.io/__internal" };

/** `admittedName`: the name in the admission request; empty for a deletion of a collection, as upstream. */
export function deleteOne(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
  query: DeleteQuery,
  { namespace, name }: Place,
  admittedName = name,
): Promise<DeleteResult> {
  const { dryRun } = query;
  const facts = {
    name: admittedName,
    operation: "DELETE",
    subresource: "",
    object: undefined,
    dryRun,
    attempt: {},
  } as const;
  return kind.store.delete(namespace, name, query.options, {
    dryRun,
    admit: (_next, old) => {
      const options = admittedOptions(kind, query, old);
      const request = admissionRequest(context, kind, { ...facts, oldObject: old, options });
      return deps.admission.validate(request);
    },
    warn: (text) => context.warnings.add(text),
  });
}

/** Options in the admission request. For a namespace they have the uid that storage found, as upstream. */
function admittedOptions(
  { resource: { group, resource } }: StoredKind,
  { options, dryRun }: DeleteQuery,
  old: AnyObject | undefined,
): AnyObject {
  const isNamespace = group === "" && resource === "namespaces";
  const preconditions = { uid: old?.metadata?.uid, ...options.preconditions };
  return {
    kind: "DeleteOptions",
    apiVersion: "meta.k8s.io/v1",
    ...options,
    ...(isNamespace ? { preconditions } : {}),
    ...(dryRun ? { dryRun: ["All"] } : {}),
  };
}

/** Deletes an object for a request whose own admission has allowed the deletion. */
export function deleteAdmitted(
  context: RequestContext,
  kind: StoredKind,
  query: DeleteQuery,
  place: Place,
): Promise<DeleteResult> {
  return kind.store.delete(place.namespace, place.name, query.options, {
    dryRun: query.dryRun,
    warn: (text) => context.warnings.add(text),
  });
}

function makeDeletedStatus(kind: StoredKind, object: AnyObject): Status {
  const { name = "", uid = "" } = object.metadata ?? {};
  const { group, resource } = kind.resource;
  const details = { name, ...(group === "" ? {} : { group }), kind: resource, uid };
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details };
}
