/** Paths and queries of Kubernetes requests. Paths are decoded; the transport encodes them once. */
import type { CallOptions, DeleteCall, ListCall, ResourceRef, WatchCall } from "./client.ts";

/** `/api/v1/namespaces/ns/pods/name/status`; `namespace` "" means cluster scope or all namespaces. */
export function resourcePath(
  ref: ResourceRef,
  namespace: string,
  name: string,
  subresource: string,
): string {
  const root = ref.group === "" ? `/api/${ref.version}` : `/apis/${ref.group}/${ref.version}`;
  const scope = namespace === "" ? "" : `/namespaces/${namespace}`;
  const object = name === "" ? "" : `/${name}`;
  return `${root}${scope}/${ref.resource}${object}${subresource === "" ? "" : `/${subresource}`}`;
}

/** Percent-encodes each segment and keeps the slashes. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeSegment).join("/");
}

function encodeSegment(segment: string): string {
  return /^[A-Za-z0-9._~:-]*$/.test(segment) ? segment : encodeURIComponent(segment);
}

type QueryValue = string | number | boolean | undefined;

function encodeQuery(fields: Readonly<Record<string, QueryValue>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  return query.toString();
}

export function callQuery(options: CallOptions): string {
  const { fieldManager, dryRun, force } = options;
  if (fieldManager === undefined && dryRun !== true && force !== true) return "";
  return encodeQuery({
    fieldManager,
    dryRun: dryRun === true ? "All" : undefined,
    force: force === true ? true : undefined,
  });
}

export function listCallQuery(call: ListCall): string {
  return encodeQuery({
    labelSelector: call.labelSelector,
    fieldSelector: call.fieldSelector,
    resourceVersion: call.resourceVersion,
    resourceVersionMatch: call.resourceVersionMatch,
    limit: call.limit,
    continue: call.continue,
  });
}

export function watchQuery(call: WatchCall): string {
  const initial = call.sendInitialEvents === true;
  return encodeQuery({
    watch: true,
    labelSelector: call.labelSelector,
    fieldSelector: call.fieldSelector,
    resourceVersion: call.resourceVersion,
    resourceVersionMatch: initial ? "NotOlderThan" : undefined,
    sendInitialEvents: initial ? true : undefined,
    allowWatchBookmarks: call.allowWatchBookmarks === true ? true : undefined,
    timeoutSeconds: call.timeoutSeconds,
  });
}

/** DeleteOptions as the body of a DELETE; undefined when there are none. */
export function deleteBody(call: DeleteCall): object | undefined {
  const { gracePeriodSeconds, propagationPolicy, preconditions } = call;
  const dryRun = call.dryRun === true ? ["All"] : undefined;
  const given = { gracePeriodSeconds, propagationPolicy, preconditions, dryRun };
  const fields = Object.entries(given).filter(([, value]) => value !== undefined);
  if (fields.length === 0) return undefined;
  return { apiVersion: "v1", kind: "DeleteOptions", ...Object.fromEntries(fields) };
}
