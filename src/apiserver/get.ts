/** GET of one object. */
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { answerCached, formFor } from "./answer.ts";
import { type StoredKind } from "./stored-kind.ts";

export async function getObject(context: RequestContext, kind: StoredKind): Promise<PlainResponse> {
  const form = formFor(context, kind);
  const resourceVersion = context.query.get("resourceVersion");
  const options = resourceVersion === null ? {} : { resourceVersion };
  const { namespace, pathName } = context.info;
  const cached = await kind.store.get(namespaceOf(kind, namespace), pathName, options);
  return answerCached(context, kind, form, 200, cached);
}

/** Cluster-scoped objects live in namespace "", whatever the path says (`namespaces/x/status`). */
export function namespaceOf(kind: StoredKind, namespace: string): string {
  return kind.info.namespaced ? namespace : "";
}
