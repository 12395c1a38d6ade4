/**
 * Finds the target of `nodes|pods|services/[scheme:]name[:port]/proxy`.
 *
 * Holds  the address comes from the object (a node's status, a pod's, a Service's endpoints), never from the request,
 *        and must be permitted for proxying (addresses.ts). A node's name is resolved once: the connection uses the
 *        address that was checked.
 */
import { badRequest, failure } from "#api/status.ts";
import type { Host, HostsTransport } from "#platform/byte-transport.ts";
import type { RequestContext } from "#server/context.ts";
import type { ApiDeps } from "../deps.ts";
import { isGlobalUnicast } from "./addresses.ts";
import { dialText } from "./dial-text.ts";
import type { Kubelets } from "./deps.ts";
import { hollowStream } from "./pod-streams.ts";
import { findPod, isHollow, kubeletOf, specOf } from "./pod-target.ts";
import { endpointOf } from "./service-endpoint.ts";

export interface ProxyTarget {
  readonly transport: HostsTransport;
  readonly host: Host;
}

interface ProxyId {
  readonly id: string;
  readonly scheme: "" | "http" | "https";
  readonly name: string;
  /** Port from the path: a number, a name, or "" for none. */
  readonly port: string;
}

export type ProxiedResource = "nodes" | "pods" | "services";

export async function proxyTarget(
  deps: ApiDeps,
  kubelets: Kubelets,
  context: RequestContext,
  resource: ProxiedResource,
): Promise<ProxyTarget> {
  const { name: id, namespace } = context.place;
  const split = splitId(id);
  if (split === undefined)
    throw badRequest(`invalid ${resource.slice(0, -1)} request ${JSON.stringify(id)}`);
  switch (resource) {
    case "nodes":
      return nodeTarget(deps, kubelets, split);
    case "pods":
      return { transport: kubelets.backends, host: podHost(deps, namespace, split) };
    case "services": {
      const { address, port } = endpointOf(deps, namespace, split);
      return { transport: kubelets.backends, host: { ...schemeOf(split), name: address, port } };
    }
    default:
      return resource satisfies never;
  }
}

/** Parses `name`, `name:port` or `scheme:name:port`. */
export function splitId(id: string): ProxyId | undefined {
  const parts = id.split(":");
  const [scheme = "", name = "", port = ""] = parts.length === 3 ? parts : ["", ...parts];
  if (parts.length > 3 || name === "") return undefined;
  if (scheme !== "" && scheme !== "http" && scheme !== "https") return undefined;
  return { id, scheme, name, port };
}

function schemeOf({ scheme }: ProxyId): { readonly scheme: "http" | "https" } {
  return { scheme: scheme === "https" ? "https" : "http" };
}

async function nodeTarget(deps: ApiDeps, kubelets: Kubelets, split: ProxyId): Promise<ProxyTarget> {
  const { name, port } = split;
  if (isHollow(deps, name))
    throw failure(
      503,
      "ServiceUnavailable",
      `node ${name} is hollow: there is no kubelet to proxy to`,
    );
  const { host } = kubeletOf(deps, kubelets, name);
  const address = await proxyableAddress(kubelets.verified, host);
  if (port === "" || port === String(host.port))
    return { transport: kubelets.verified, host: { ...host, address } };
  const other = { ...schemeOf(split), name: host.name, port: portOf(port), address };
  return { transport: kubelets.backends, host: other };
}

async function proxyableAddress(transport: HostsTransport, host: Host): Promise<string> {
  let addresses: readonly string[];
  try {
    addresses = await transport.resolve(host.name);
  } catch (error) {
    throw badRequest(dialText(error, host).replace(/^dial tcp: /, ""));
  }
  const [address] = addresses;
  if (address === undefined) throw badRequest("no addresses for hostname");
  if (!addresses.every(isGlobalUnicast)) throw badRequest("address not allowed");
  return address;
}

function podHost(deps: ApiDeps, namespace: string, split: ProxyId): Host {
  const { name, port } = split;
  const pod = findPod(deps, namespace, name);
  const spec = specOf(pod);
  const nodeName = spec.nodeName ?? "";
  if (nodeName !== "" && isHollow(deps, nodeName))
    throw hollowStream({ pod, spec, namespace, name, nodeName, isHollow: true }, "proxy");
  const { podIPs = [] } = (pod["status"] ?? {}) as {
    readonly podIPs?: readonly { readonly ip?: string }[];
  };
  const address = podIPs[0]?.ip ?? "";
  if (!isGlobalUnicast(address)) throw badRequest("address not allowed");
  const first = (spec.containers ?? [])
    .flatMap((container) => (container.ports ?? []).slice(0, 1))
    .at(0)?.containerPort;
  const { scheme } = schemeOf(split);
  const standard = first ?? (scheme === "https" ? 443 : 80);
  return { scheme, name: address, port: port === "" ? standard : portOf(port) };
}

/** Parses a port number. @throws ApiError 503, in Go's words. */
function portOf(port: string): number {
  const value = Number(port);
  if (/^\d{1,5}$/.test(port) && value <= 65_535) return value;
  const why = /^\d+$/.test(port)
    ? `address ${port}: invalid port`
    : `lookup tcp/${port}: unknown port`;
  const text = `error trying to reach service: dial tcp: ${why}`;
  throw failure(503, "ServiceUnavailable", text);
}
