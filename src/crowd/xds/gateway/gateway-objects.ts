/**
 * The objects of the Gateway API as far as they are used (gateway.networking.k8s.io, v1 and ReferenceGrant of
 * v1beta1), read from whatever the cluster holds.
 */
import type { AnyObject } from "#api/object.ts";
import {
  type LabelSelector,
  type LabelSelectorSpec,
  SelectorError,
  selectNothing,
  selectorFromLabelSelector,
} from "#api/selectors/label-selector.ts";
import { fields, type Fields, list, text, whole } from "./fields.ts";
import { anyHostname, hostnameOf } from "./hostnames.ts";

export const gatewayGroup = "gateway.networking.k8s.io";
export type RouteKind = "HTTPRoute" | "GRPCRoute";

export interface Identity {
  readonly namespace: string;
  readonly name: string;
  /** Creation time as RFC 3339 in UTC, so that texts sort by time. */
  readonly created: string;
}

export interface Listener {
  readonly name: string;
  /** Hostname; "*" for any. */
  readonly hostname: string;
  readonly port: number;
  readonly from: "Same" | "All" | "Selector" | "None";
  readonly selector: LabelSelector;
  /** Allowed kinds of routes; empty for all. */
  readonly kinds: readonly string[];
}

export interface Gateway extends Identity {
  /** Listeners of protocol HTTP. */
  readonly listeners: readonly Listener[];
}

export interface ReferenceGrant {
  readonly namespace: string;
  readonly from: readonly { readonly kind: string; readonly namespace: string }[];
  /** Names of Services; undefined stands for all. */
  readonly to: readonly (string | undefined)[];
}

/** Maximum in the definition; further listeners are ignored. */
const listenersMax = 64;

export function identityOf({ metadata }: AnyObject): Identity {
  const { namespace = "", name = "", creationTimestamp: created = "" } = metadata ?? {};
  return { namespace, name, created };
}

export function readGateway(object: AnyObject): Gateway {
  const spec = fields(fields(object)["spec"]);
  const listeners = list(spec["listeners"]).slice(0, listenersMax).flatMap(readListener);
  return { ...identityOf(object), listeners };
}

function readListener(listener: Fields): readonly Listener[] {
  const port = whole(listener["port"]) ?? 0;
  const given = text(listener["hostname"]);
  const hostname = given === "" ? anyHostname : hostnameOf(given);
  if (listener["protocol"] !== "HTTP" || port < 1 || port > 65_535) return [];
  if (hostname === undefined) return [];
  const allowed = fields(listener["allowedRoutes"]);
  const namespaces = fields(allowed["namespaces"]);
  const kinds = list(allowed["kinds"])
    .filter((kind) => text(kind["group"], gatewayGroup) === gatewayGroup)
    .map((kind) => text(kind["kind"]));
  const from = readFrom(text(namespaces["from"], "Same"));
  const selector = readSelector(namespaces["selector"]);
  return [{ name: text(listener["name"]), hostname, port, from, selector, kinds }];
}

function readFrom(from: string): Listener["from"] {
  return from === "Same" || from === "All" || from === "Selector" ? from : "None";
}

/** Reads a selector; an invalid one selects nothing. */
function readSelector(selector: unknown): LabelSelector {
  if (selector === undefined) return selectNothing;
  try {
    // The called function checks shape and content, and throws.
    return selectorFromLabelSelector(fields(selector) as LabelSelectorSpec);
  } catch (error) {
    if (error instanceof SelectorError || error instanceof TypeError) return selectNothing;
    throw error;
  }
}

export function readGrant(object: AnyObject): ReferenceGrant {
  const spec = fields(fields(object)["spec"]);
  return {
    namespace: identityOf(object).namespace,
    from: list(spec["from"])
      .filter((from) => from["group"] === gatewayGroup)
      .map((from) => ({ kind: text(from["kind"]), namespace: text(from["namespace"]) })),
    to: list(spec["to"])
      .filter((to) => text(to["group"]) === "" && to["kind"] === "Service")
      .map((to) => text(to["name"]) || undefined),
  };
}
