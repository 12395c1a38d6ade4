/** What the authorizer is asked about a request. */
import type { Attributes } from "#auth/auth.ts";
import type { UserInfo } from "#platform/http.ts";
import type { RequestInfo } from "./request-info.ts";

export function attributesOf(user: UserInfo, info: RequestInfo): Attributes {
  const { verb, path, resourceRequest, group, version, resource, subresource } = info;
  const { namespace, name } = info;
  return {
    user,
    verb,
    path,
    resourceRequest,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
  };
}
