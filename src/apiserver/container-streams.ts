/**
 * pods/log, exec, attach, portforward and the proxies: what needs a kubelet.
 *
 * Hollow nodes have no containers, and the answer says so. Requests to real kubelets are not proxied yet:
 * 501, so that the answer cannot be mistaken for an empty log.
 */
import type { AnyObject } from "#api/object.ts";
import { badRequest, failure } from "#api/status.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import { textResponse } from "#server/respond.ts";
import type { ApiDeps } from "./deps.ts";
import type { StoredKind } from "./stored-kind.ts";

const hollowAnnotation = "pilothouse.dev/hollow";

interface PodSpec {
  readonly nodeName?: string;
  readonly containers?: readonly { readonly name?: string }[];
  readonly initContainers?: readonly { readonly name?: string }[];
  readonly ephemeralContainers?: readonly { readonly name?: string }[];
}

export async function podLog(
  deps: ApiDeps,
  context: RequestContext,
  pods: StoredKind,
): Promise<PlainResponse> {
  const { pod, spec, where } = await podOf(context, pods);
  const container = containerOf(context, pod, spec);
  const node = requireNode(pod, spec);
  if (!isHollow(deps, node)) throw notProxied("logs", node);
  const text = `hollow node ${node}: container ${container} of pod ${where} is simulated, so it writes no logs\n`;
  return textResponse(200, text, { "content-type": "text/plain" });
}

/** exec, attach, portforward and pods/proxy. */
export async function podStream(
  deps: ApiDeps,
  context: RequestContext,
  pods: StoredKind,
): Promise<PlainResponse> {
  const { pod, spec, where } = await podOf(context, pods);
  const verb = context.requestInfo.subresource;
  if (verb === "exec" || verb === "attach") containerOf(context, pod, spec);
  const node = requireNode(pod, spec);
  if (!isHollow(deps, node)) throw notProxied(verb, node);
  throw badRequest(`pod ${where} runs on hollow node ${node}: there is no container to ${verb}`);
}

/** nodes/proxy and services/proxy. */
export function refuseProxy(context: RequestContext): never {
  const { resource } = context.requestInfo;
  const name = JSON.stringify(context.place.name);
  const text = `proxying to ${resource} is not served: cannot reach ${resource} ${name}`;
  throw failure(503, "ServiceUnavailable", text);
}

async function podOf(
  context: RequestContext,
  pods: StoredKind,
): Promise<{ pod: AnyObject; spec: PodSpec; where: string }> {
  const { namespace, name } = context.place;
  const pod = (await pods.store.get(namespace, name, {})).object;
  const spec = (pod["spec"] ?? {}) as PodSpec; // a stored pod
  return { pod, spec, where: `${namespace}/${name}` };
}

function requireNode(pod: AnyObject, spec: PodSpec): string {
  const node = spec.nodeName ?? "";
  if (node !== "") return node;
  throw badRequest(`pod ${pod.metadata?.name ?? ""} does not have a host assigned`);
}

function containerOf(context: RequestContext, pod: AnyObject, spec: PodSpec): string {
  const name = pod.metadata?.name ?? "";
  const groups = [spec.containers, spec.initContainers, spec.ephemeralContainers];
  const [main = [], init = [], ephemeral = []] = groups.map((group) =>
    (group ?? []).map((container) => container.name ?? ""),
  );
  const wanted = context.query.get("container") ?? "";
  if (wanted !== "") {
    if ([...main, ...init, ...ephemeral].includes(wanted)) return wanted;
    throw badRequest(`container ${wanted} is not valid for pod ${name}`);
  }
  const [only] = main;
  if (main.length === 1 && only !== undefined) return only;
  const choice = `choose one of: [${main.join(" ")}]`;
  const more = init.length === 0 ? "" : ` or one of the init containers: [${init.join(" ")}]`;
  throw badRequest(`a container name must be specified for pod ${name}, ${choice}${more}`);
}

function isHollow(deps: ApiDeps, node: string): boolean {
  const found = deps.lookup.get({ group: "", resource: "nodes" }, "", node);
  return found?.metadata?.annotations?.[hollowAnnotation] === "true";
}

function notProxied(what: string, node: string): Error {
  const text = `${what} from node ${JSON.stringify(node)} are not served: this server does not proxy to kubelets`;
  return failure(501, "", text);
}
