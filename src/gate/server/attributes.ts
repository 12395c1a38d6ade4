/** The attributes of a request for the authorizer. */
import { type FieldSelector, parseFieldSelector } from "#api/selectors/field-selector.ts";
import type { Attributes } from "#auth/auth.ts";
import type { UserInfo } from "#platform/http.ts";
import type { Target } from "./place.ts";
import type { RequestInfo } from "./request-info.ts";

export function attributesOf(
  user: UserInfo,
  info: RequestInfo,
  { asked }: Target,
  query: URLSearchParams,
): Attributes {
  const { verb, path, isResourceRequest, group, version, resource, subresource } = info;
  const fieldSelector = selectorOf(info, query);
  return {
    user,
    verb,
    path,
    isResourceRequest,
    group,
    version,
    resource,
    subresource,
    ...asked,
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}

/** @returns undefined for an invalid selector, which the handler answers with 400. */
function selectorOf(info: RequestInfo, query: URLSearchParams): FieldSelector | undefined {
  const text = query.get("fieldSelector");
  // The prefixed watch of one object has no selector, as upstream.
  if (text === null || text === "" || info.hasVerbInPath || !selective.has(info.verb))
    return undefined;
  try {
    return parseFieldSelector(text);
  } catch {
    return undefined;
  }
}

const selective = new Set(["list", "watch", "deletecollection"]);
