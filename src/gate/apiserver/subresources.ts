/** Maps subresources to the code that serves them. All others are parts of the object: get, put, patch. */
import { ownEntry } from "#base/own.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { bindPod } from "./binding.ts";
import type { ApiDeps } from "./deps.ts";
import { evictPod } from "./eviction.ts";
import { handleGet } from "./get.ts";
import { methodNotAllowed } from "./method.ts";
import { podLog } from "./kubelet/logs.ts";
import { podStream } from "./kubelet/pod-streams.ts";
import { proxyTo } from "./kubelet/proxy.ts";
import { handlePatch } from "./patch.ts";
import { getScale, patchScale, updateScale } from "./scale.ts";
import type { StoredKind } from "./stored-kind.ts";
import { mintToken } from "./token.ts";
import { handleUpdate } from "./update.ts";

type Serve = (deps: ApiDeps, context: RequestContext, kind: StoredKind) => Promise<PlainResponse>;

/** Subresources of the core group, as `pods/log`. `serveSubresource` finds those of other groups and `scale`. */
const own: Readonly<Record<string, Serve>> = {
  "pods/binding": bindPod,
  "pods/eviction": evictPod,
  "pods/log": podLog,
  "pods/exec": (deps, context, kind) => podStream(deps, context, kind, "exec"),
  "pods/attach": (deps, context, kind) => podStream(deps, context, kind, "attach"),
  "pods/portforward": (deps, context, kind) => podStream(deps, context, kind, "portforward"),
  "pods/proxy": (deps, context, kind) => proxyTo(deps, context, kind, "pods"),
  "serviceaccounts/token": mintToken,
  "nodes/proxy": (deps, context, kind) => proxyTo(deps, context, kind, "nodes"),
  "services/proxy": (deps, context, kind) => proxyTo(deps, context, kind, "services"),
};

export function serveSubresource(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  const { subresource, verb } = context.requestInfo;
  const special =
    kind.resource.group === ""
      ? ownEntry(own, `${kind.resource.resource}/${subresource}`)
      : undefined;
  if (special !== undefined) return special(deps, context, kind);
  if (subresource === "scale") return serveScale(deps, context, kind);
  switch (verb) {
    case "get":
      return handleGet(context, kind);
    case "update":
      return handleUpdate(deps, context, kind);
    case "patch":
      return handlePatch(deps, context, kind);
    default:
      throw methodNotAllowed(kind);
  }
}

function serveScale(
  deps: ApiDeps,
  context: RequestContext,
  kind: StoredKind,
): Promise<PlainResponse> {
  switch (context.requestInfo.verb) {
    case "get":
      return getScale(context, kind);
    case "update":
      return updateScale(deps, context, kind);
    case "patch":
      return patchScale(deps, context, kind);
    default:
      throw methodNotAllowed(kind);
  }
}
