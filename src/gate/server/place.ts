/**
 * The object that a request acts on. One value, made once from the path and the scope of its kind, determines both the
 * authorizer's question and the object that the handler reaches: the two cannot disagree.
 *
 * In     request info, and the scope of the kind at its group, version and resource.
 * Holds  a place equals the path: for a namespaced kind the same namespace and name, for a cluster-scoped kind the same
 *        name, and the path has no namespace. One exception, as in upstream: a Namespace is authorised in the namespace
 *        of its own name (`namespaces/NAME`, `.../status`, `.../finalize`).
 * Out    no place when the path does not fit the scope, or when it serves nothing: the request gets 404 after
 *        authorization, and reaches no handler.
 * Not    for requests that are passed on to another server: they get the place without an object.
 * Why a class: only this file can make a place, so no handler can invent one.
 */
import { isNamespaceResource } from "#api/object.ts";
import type { RequestInfo } from "./request-info.ts";

type Scope = "namespaced" | "cluster";
/** `delegated`: another server's resource. That server interprets its path, and no handler here acts on it. */
export type Reach = Scope | "delegated";

export class Place {
  readonly #namespace: string;
  readonly #name: string;

  private constructor(namespace: string, name: string) {
    this.#namespace = namespace;
    this.#name = name;
  }

  /** Namespace; "" for cluster-scoped kinds, and for a list or watch over all namespaces. */
  get namespace(): string {
    return this.#namespace;
  }

  /** Name of the object; "" for a collection. */
  get name(): string {
    return this.#name;
  }

  /** Place of requests that concern no object. */
  static readonly none = new Place("", "");

  /** Place of an object in the same collection, whose name is from a body or a list. */
  named(name: string): Place {
    return new Place(this.#namespace, name);
  }

  static of(info: RequestInfo, scope: Scope): Place | undefined {
    const { pathName: name } = info;
    if (!hasServedShape(info)) return undefined;
    if (scope === "cluster") {
      const isFree = info.namespace === "" && !info.isInNamespace;
      return isFree || isNamespaceItself(info) ? new Place("", name) : undefined;
    }
    // `namespaces/NAME` never names an object of a namespaced kind, whatever its group.
    if (!info.isInNamespace && info.namespace !== "") return undefined;
    const isNowhere = info.namespace === "" && name !== "";
    return isNowhere ? undefined : new Place(info.namespace, name);
  }
}

export interface Target {
  /** Namespace and name for the authorizer. A field selector may name the object of a list. */
  readonly asked: { readonly namespace: string; readonly name: string };
  /** Place that the handler acts on. Undefined: the path is not served. */
  readonly place: Place | undefined;
}

/** `scope` is undefined when the resource is not served. */
export function targetOf(info: RequestInfo, scope: Reach | undefined): Target {
  const { namespace, name } = info;
  const asked = { namespace, name };
  if (!info.isResourceRequest || scope === "delegated") return { asked, place: Place.none };
  return { asked, place: scope === undefined ? undefined : Place.of(info, scope) };
}

/** Whether this is a Namespace, the only cluster-scoped kind whose path has a namespace: its own name. */
function isNamespaceItself(info: RequestInfo): boolean {
  return !info.isInNamespace && isNamespaceResource(info);
}

/** Whether the path is RESOURCE, RESOURCE/NAME, RESOURCE/NAME/SUBRESOURCE, or below a proxy. */
function hasServedShape(info: RequestInfo): boolean {
  const { parts, path, prefix, subresource, verb } = info;
  // Upstream trims slashes for authorization, but routes the path unchanged.
  if (!path.startsWith(`/${prefix}/`)) return false;
  // `/api/v1/proxy/...` is still authorized, but no longer served.
  if (verb === "proxy") return false;
  const isProxied = subresource === "proxy" && parts[1] !== "";
  if (isProxied) return parts[0] !== "";
  // The prefix is for collections and objects, never for a subresource.
  if (parts.length > (info.hasVerbInPath ? 2 : 3)) return false;
  return parts.every((part) => part !== "");
}
