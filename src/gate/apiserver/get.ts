/** GET of one object. */
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { answerCached, formFor } from "./answer.ts";
import { explainRead } from "./explain-read.ts";
import { type StoredKind } from "./stored-kind.ts";

export async function handleGet(context: RequestContext, kind: StoredKind): Promise<PlainResponse> {
  const form = formFor(context, kind);
  const resourceVersion = context.query.get("resourceVersion");
  const options = resourceVersion === null ? {} : { resourceVersion };
  const { namespace, name } = context.place;
  explainRead(context, "cache", "key");
  const cached = await kind.store.get(namespace, name, options);
  return answerCached(context, kind, form, 200, cached);
}
