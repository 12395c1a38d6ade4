/**
 * DELETE of a collection: lists in pages with the selectors, and deletes each object with the same options, a bounded
 * number at once. Answers with the list of the objects that it found. It is not a transaction.
 */
import { ApiError } from "#api/status.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import type { CachedObject } from "#forms/cached-object.ts";
import { formFor } from "./answer.ts";
import { deleteOne, readDeleteQuery, warnOfOrphans } from "./delete.ts";
import type { DeleteQuery } from "./delete-options.ts";
import type { ApiDeps } from "./deps.ts";
import { answerList, pageOptions } from "./list.ts";
import { listPage } from "./shown-selection.ts";
import { listQuery } from "./list-options.ts";
import type { StoredKind } from "./stored-kind.ts";

export async function handleDeleteCollection(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const form = formFor(context, kind);
  const query = listQuery(kind.resource, context.query, false, kind.selectableFields);
  const deletion = await readDeleteQuery(deps, context);
  warnOfOrphans(context, kind, deletion);
  const { namespace } = context.place;
  const found: CachedObject[] = [];
  let token = "";
  let resourceVersion = "";
  do {
    const options = {
      ...pageOptions(query),
      limit: query.limit || deps.limits.pageItems,
      pace: context.pace,
    };
    const page = await listPage(kind, namespace, query, {
      ...options,
      ...(token === "" ? {} : { continue: token }),
    });
    await deleteAll(deps, context, kind, deletion, page.items);
    found.push(...page.items);
    resourceVersion ||= page.resourceVersion;
    token = query.limit > 0 ? "" : (page.continue ?? "");
  } while (token !== "" && !context.signal.aborted);
  return answerList(context, kind, form, { items: found, resourceVersion });
}

async function deleteAll(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
  query: DeleteQuery,
  items: readonly CachedObject[],
): Promise<void> {
  let next = 0;
  /** After a refusal no further deletion starts; those under way finish. */
  const stop = (error: unknown): never => {
    next = items.length;
    throw error;
  };
  const worker = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) {
      const place = context.place.named(item.name);
      await deleteOne(deps, context, kind, query, place, "").catch(unlessGone).catch(stop);
    }
  };
  const workers = Math.min(deps.limits.deletesInFlightMax, items.length);
  await Promise.all(Array.from({ length: workers }, worker));
}

/** Ignores objects that another client deleted first. */
function unlessGone(error: unknown): void {
  if (error instanceof ApiError && error.code === 404) return;
  throw error;
}
