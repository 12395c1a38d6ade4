/**
 * Admission of what opens a connection: exec, attach, port-forward and the proxies. Plugins see the options
 * of the request as the object, as upstream; they can refuse it, not change it.
 */
import type { AnyObject } from "#api/object.ts";
import type { RequestContext } from "#server/context.ts";
import { isTrue } from "#server/request-info.ts";
import { admissionRequest } from "./admission-request.ts";
import type { ApiDeps } from "./deps.ts";
import type { ServedKind } from "./kind.ts";

/** `path`: of a proxied request, behind the name of the object. @throws ApiError of the plugin that refuses. */
export async function admitConnect(
  deps: ApiDeps,
  context: RequestContext,
  kind: ServedKind,
  path?: string,
): Promise<void> {
  const { subresource } = context.requestInfo;
  const request = admissionRequest(context, kind, {
    operation: "CONNECT",
    subresource,
    name: context.place.name,
    object: connectOptions(context, kind, path),
    oldObject: undefined,
    dryRun: false,
    attempt: {},
  });
  await deps.admission.mutate(request);
  await deps.admission.validate(request);
}

/** The kinds' fields in the query, as upstream decodes them: what is false or empty is left out. */
function connectOptions(
  { query, requestInfo: { subresource } }: RequestContext,
  { resource }: ServedKind,
  path: string | undefined,
): AnyObject {
  const own = resource.subresources.find(({ name }) => name === subresource);
  const flags = ["stdin", "stdout", "stderr", "tty"].filter((name) => isTrue(query.get(name)));
  const type = { kind: own?.kind ?? "", apiVersion: resource.version };
  if (path !== undefined) return { ...type, ...(path === "" ? {} : { path }) };
  if (subresource === "portforward") {
    const ports = query.getAll("ports").flatMap((text) => text.split(",").map(Number));
    return { ...type, ...(ports.length === 0 ? {} : { ports }) };
  }
  const container = query.get("container") ?? "";
  const command = query.getAll("command");
  return {
    ...type,
    ...Object.fromEntries(flags.map((name) => [name, true])),
    ...(container === "" ? {} : { container }),
    ...(subresource === "exec" && command.length > 0 ? { command } : {}),
  };
}
