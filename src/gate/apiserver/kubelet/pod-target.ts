/**
 * Finds the pod, the container and the node of a log, exec, attach or port-forward request, and the kubelet of that
 * node.
 *
 * Holds  a kubelet is reached only at an address and port of its Node object.
 * Hollow nodes have no kubelet. Their pods are recognised here, and the answer says so.
 */
import type { AnyObject } from "#api/object.ts";
import { badRequest, failure, notFound } from "#api/status.ts";
import type { Host } from "#platform/byte-transport.ts";
import type { RequestContext } from "#server/context.ts";
import type { ApiDeps } from "../deps.ts";
import type { Kubelets } from "./deps.ts";

const hollowAnnotation = "pilothouse.dev/hollow";
/** Annotation of hollow nodes whose process serves as their kubelet. */
const kubeletAnnotation = "pilothouse.dev/hollow-kubelet";

interface Container {
  readonly name?: string;
  readonly ports?: readonly { readonly containerPort?: number }[];
}

interface PodSpec {
  readonly nodeName?: string;
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly ephemeralContainers?: readonly Container[];
}

export interface PodTarget {
  readonly pod: AnyObject;
  readonly spec: PodSpec;
  readonly namespace: string;
  readonly name: string;
  readonly nodeName: string;
  readonly isHollow: boolean;
}

interface NodeStatus {
  readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  readonly daemonEndpoints?: { readonly kubeletEndpoint?: { readonly Port?: number } };
  readonly declaredFeatures?: readonly string[];
}

interface NodeKubelet {
  readonly host: Host;
  /** Whether the kubelet accepts WebSocket streams (it declares feature ExtendWebSocketsToKubelet). */
  readonly speaksWebSocket: boolean;
}

export function findPod(deps: ApiDeps, namespace: string, name: string): AnyObject {
  const found = deps.lookup.get({ group: "", resource: "pods" }, namespace, name);
  if (found === undefined) throw notFound({ group: "", resource: "pods" }, name);
  return found;
}

export function specOf(pod: AnyObject): PodSpec {
  return (pod["spec"] ?? {}) as PodSpec; // a stored pod
}

/** The pod of the request and its node. @throws ApiError 404; 400 without a node. */
export function podTarget(deps: ApiDeps, context: RequestContext, pod: AnyObject): PodTarget {
  const { namespace, name } = context.place;
  const spec = specOf(pod);
  const nodeName = spec.nodeName ?? "";
  if (nodeName === "") throw badRequest(`pod ${name} does not have a host assigned`);
  return { pod, spec, namespace, name, nodeName, isHollow: isHollow(deps, nodeName) };
}

/** Name of the requested container, or of the only one. @throws ApiError 400. */
export function containerOf(pod: AnyObject, wanted: string): string {
  const spec = specOf(pod);
  const name = pod.metadata?.name ?? "";
  const containers = spec.containers ?? [];
  // The order in which upstream lists them.
  const groups = [spec.initContainers, spec.containers, spec.ephemeralContainers];
  const all = groups.flatMap((group) => (group ?? []).map((one) => one.name ?? ""));
  if (wanted !== "") {
    if (all.includes(wanted)) return wanted;
    throw badRequest(`container ${wanted} is not valid for pod ${name}`);
  }
  const [only] = containers;
  if (containers.length === 1 && only !== undefined) return only.name ?? "";
  const choice = containers.length === 0 ? "" : `, choose one of: [${all.join(" ")}]`;
  throw badRequest(`a container name must be specified for pod ${name}${choice}`);
}

export function isHollow(deps: ApiDeps, node: string): boolean {
  const { annotations = {} } = deps.lookup.get(nodes, "", node)?.metadata ?? {};
  return annotations[hollowAnnotation] === "true" && annotations[kubeletAnnotation] !== "true";
}

const nodes = { group: "", resource: "nodes" };

/** @throws ApiError 404 without the node; 500 without a reason, as upstream, when it has no usable address. */
export function kubeletOf(deps: ApiDeps, kubelets: Kubelets, nodeName: string): NodeKubelet {
  const node = deps.lookup.get(nodes, "", nodeName);
  if (node === undefined) throw notFound(nodes, nodeName);
  const status = (node["status"] ?? {}) as NodeStatus; // a stored node
  const { addressTypes, port } = kubelets.options;
  const addresses = status.addresses ?? [];
  const address = addressTypes
    .flatMap((type) => addresses.filter((one) => one.type === type && one.address !== ""))
    .at(0)?.address;
  if (address === undefined)
    throw noAddress(addresses.map((one) => `{${one.type} ${one.address}}`));
  const named = status.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  return {
    host: { scheme: "https", name: address, port: named > 0 ? named : port },
    speaksWebSocket: (status.declaredFeatures ?? []).includes("ExtendWebSocketsToKubelet"),
  };
}

function noAddress(known: readonly string[]): Error {
  return failure(500, "", `no preferred addresses found; known addresses: [${known.join(" ")}]`);
}

/** @throws ApiError 501 when this server has no transports to kubelets. */
export function requireKubelets({ kubelets }: ApiDeps, what: string): Kubelets {
  if (kubelets !== undefined) return kubelets;
  const text = `${what} is not served: this server was not given a way to kubelets`;
  throw failure(501, "NotImplemented", text);
}
