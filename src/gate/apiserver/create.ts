/**
 * POST: decodes, sets defaults, runs mutating admission, then calls the registry's create, which runs validating
 * admission last.
 */
import type { Admission } from "#admission/admission.ts";
import { checkNamespaceOf, dedupOwnerReferences } from "#api/meta.ts";
import type { AnyObject } from "#api/object.ts";
import { forbidden } from "#api/status.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import type { Place } from "#server/place.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import { admissionRequest } from "./admission-request.ts";
import { answerCached, formFor } from "./answer.ts";
import { readObject } from "./body.ts";
import type { ApiDeps } from "./deps.ts";
import { keepManagedFields } from "./kept-managers.ts";
import { trackManagedFields } from "./managed.ts";
import { noteObject } from "./request-note.ts";
import type { StoredKind } from "./stored-kind.ts";
import { writeOptions, type WriteQuery, writeQuery } from "./write-options.ts";

export async function handleCreate(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const form = formFor(context, kind);
  const query = writeQuery("CreateOptions", context.query);
  const sent = await readObject(context, kind, deps.bodies, query.fieldValidation);
  noteObject(context, sent);
  const object = withoutRepeatedOwners(context, setNamespace(sent, kind, context.place));
  refuseWhileTerminating(kind, object.metadata?.name ?? "");
  await context.pace.step();
  const cached = await createIn(deps, context, kind, object, query);
  return answerCached(context, kind, form, 201, cached);
}

/** Removes repeated owners from an object the client sent. The registry does so for results of patches and admission. */
export function withoutRepeatedOwners({ warnings }: RequestContext, sent: AnyObject): AnyObject {
  const { object, warning } = dedupOwnerReferences(sent, "as sent");
  if (warning !== undefined) warnings.add(warning);
  return object;
}

/** Refuses to create a custom object while its definition is terminating, as upstream's admission. */
export function refuseWhileTerminating({ custom, resource }: StoredKind, name: string): void {
  if (custom?.isTerminating !== true) return;
  const why = "create not allowed while custom resource definition is terminating";
  throw forbidden(resource, name, why);
}

async function createIn(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
  object: AnyObject,
  query: WriteQuery,
): Promise<CachedObject> {
  const tracked = await trackManagedFields(context, kind, query, undefined, object);
  const stored = kind.toStored(tracked);
  const { pace } = context;
  await pace.step();
  const facts = { operation: "CREATE", subresource: "", oldObject: undefined } as const;
  const name = object.metadata?.name ?? "";
  const { dryRun } = query;
  const request = admissionRequest(context, kind, {
    ...facts,
    name,
    object: stored,
    dryRun,
    attempt: {},
    options: writeOptions("CreateOptions", query),
  });
  return unreserveOnError(deps.admission, request, async () => {
    const admitted = await deps.admission.mutate(request);
    const mutated = keepManagedFields(context, stored, admitted);
    await pace.step();
    return kind.store.create(context.place.namespace, mutated, {
      dryRun: query.dryRun,
      admit: (next) => deps.admission.validate({ ...request, name: nameOf(next), object: next }),
      warn: (text) => context.warnings.add(text),
      pace,
    });
  });
}

function nameOf(object: AnyObject | undefined): string {
  return object?.metadata?.name ?? "";
}

/** Releases the reservations of admission plugins when the write fails. */
async function unreserveOnError<T>(
  admission: Admission,
  request: Parameters<Admission["unreserve"]>[0],
  f: () => Promise<T>,
): Promise<T> {
  try {
    return await f();
  } catch (error) {
    await admission.unreserve(request);
    throw error;
  }
}

/** Sets the path's namespace, which the object may repeat but not contradict; cluster-scoped objects get none. */
export function setNamespace(object: AnyObject, kind: StoredKind, { namespace }: Place): AnyObject {
  const own = object.metadata?.namespace ?? "";
  if (!kind.resource.namespaced) {
    if (own === "") return object;
    const { namespace: _, ...metadata } = object.metadata ?? {};
    return { ...object, metadata };
  }
  checkNamespaceOf(object, namespace);
  return own === "" ? { ...object, metadata: { ...object.metadata, namespace } } : object;
}
