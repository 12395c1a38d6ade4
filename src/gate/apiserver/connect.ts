/**
 * Admission of requests that open a connection: exec, attach, port-forward and the proxies. As in upstream, plugins see
 * the options of the request as the object. They can refuse or change it.
 *
 * Holds  the options after admission are read like a client's query. A field of a wrong type is a 500, because a plugin
 *        caused it.
 */
import type { AnyObject } from "#api/object.ts";
import { type ApiError, internalError } from "#api/status.ts";
import type { RequestContext } from "#server/context.ts";
import { isTrue } from "#server/request-info.ts";
import { admissionRequest } from "./admission-request.ts";
import type { ApiDeps } from "./deps.ts";
import type { ServedKind } from "./kind.ts";

/** @returns the query after admission. @throws ApiError of the plugin that refuses. */
export async function admitStream(
  deps: ApiDeps,
  context: RequestContext,
  kind: ServedKind,
): Promise<URLSearchParams> {
  return queryOf(await admitConnect(deps, context, kind));
}

/** @returns the path behind the object's name, after admission. */
export async function admitProxy(
  deps: ApiDeps,
  context: RequestContext,
  kind: ServedKind,
  path: string,
): Promise<string> {
  return queryOf(await admitConnect(deps, context, kind, path)).get("path") ?? "";
}

async function admitConnect(
  deps: ApiDeps,
  context: RequestContext,
  kind: ServedKind,
  path?: string,
): Promise<AnyObject> {
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
  const object = await deps.admission.mutate(request);
  await deps.admission.validate({ ...request, object });
  return object;
}

const typeFields: ReadonlySet<string> = new Set(["kind", "apiVersion", "metadata"]);
const lists: ReadonlySet<string> = new Set(["command", "ports"]);
const flags = ["stdin", "stdout", "stderr", "tty"];

function queryOf(options: AnyObject): URLSearchParams {
  const query = new URLSearchParams();
  for (const [field, value] of Object.entries(options)) {
    if (typeFields.has(field) || value === undefined || value === null) continue;
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (Array.isArray(value) !== lists.has(field)) throw notReadable(field);
    for (const one of values) query.append(field, optionText(field, one));
  }
  return query;
}

function optionText(field: string, value: unknown): string {
  const wanted = flags.includes(field) ? "boolean" : field === "ports" ? "number" : "string";
  if (typeof value !== wanted) throw notReadable(field);
  return String(value);
}

function notReadable(field: string): ApiError {
  return internalError(`admission left options that cannot be read: wrong type of ${field}`);
}

/** The query's options as an object, as upstream decodes them: false and empty options are left out. */
function connectOptions(
  { query, requestInfo: { subresource } }: RequestContext,
  { resource }: ServedKind,
  path: string | undefined,
): AnyObject {
  const own = resource.subresources.find(({ name }) => name === subresource);
  const given = flags.filter((name) => isTrue(query.get(name)));
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
    ...Object.fromEntries(given.map((name) => [name, true])),
    ...(container === "" ? {} : { container }),
    ...(subresource === "exec" && command.length > 0 ? { command } : {}),
  };
}
