/**
 * Where a request acts. One value, made once from the path and the scope of its kind, says both what the
 * authorizer is asked and which object the handler reaches: they cannot disagree.
 *
 * In     request info, and the scope of the kind at its group, version and resource.
 * Holds  a place is what was asked: of a namespaced kind the same namespace and name; of a cluster-scoped
 *        kind the same name, and no namespace was asked. One exception, upstream's: a Namespace is
 *        authorised in the namespace that it is (`namespaces/NAME`, `.../status`, `.../finalize`).
 * Out    no place when the path's shape does not fit the scope, or nothing is served there: the request is
 *        answered 404 once it is authorised, and reaches no handler.
 * Not    of requests that are passed on to another server: they get the place of no object.
 * Why a class: only this file can make a place, so no handler can invent one.
 */
import { isNamespaceResource } from "#api/object.ts";
import type { RequestInfo } from "./request-info.ts";

type Scope = "namespaced" | "cluster";
/** Or another server's: what its paths mean is its own to say, and no handler here acts on an object of it. */
export type Reach = Scope | "delegated";

export class Place {
  readonly #namespace: string;
  readonly #name: string;

  private constructor(namespace: string, name: string) {
    this.#namespace = namespace;
    this.#name = name;
  }

  /** "" for cluster-scoped kinds, and for a list or watch over all namespaces. */
  get namespace(): string {
    return this.#namespace;
  }

  /** "" for a collection. */
  get name(): string {
    return this.#name;
  }

  /** Of requests that are about no object. */
  static readonly none = new Place("", "");

  /** An object of the same collection, which a body or a list named. */
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
    // `namespaces/NAME` is never an object of a namespaced kind, whatever its group.
    if (!info.isInNamespace && info.namespace !== "") return undefined;
    const isNowhere = info.namespace === "" && name !== "";
    return isNowhere ? undefined : new Place(info.namespace, name);
  }
}

export interface Target {
  /** What the authorizer is asked. A field selector may name the object of a list. */
  readonly asked: { readonly namespace: string; readonly name: string };
  /** Where the handler acts; undefined: nowhere. */
  readonly place: Place | undefined;
}

/** `scope`: undefined when no such resource is served. */
export function targetOf(info: RequestInfo, scope: Reach | undefined): Target {
  const { namespace, name } = info;
  const asked = { namespace, name };
  if (!info.isResourceRequest || scope === "delegated") return { asked, place: Place.none };
  return { asked, place: scope === undefined ? undefined : Place.of(info, scope) };
}

/** The only cluster-scoped kind whose path says a namespace: its own name. */
function isNamespaceItself(info: RequestInfo): boolean {
  return !info.isInNamespace && isNamespaceResource(info);
}

/** RESOURCE, RESOURCE/NAME, RESOURCE/NAME/SUBRESOURCE, and anything below a proxy. */
function hasServedShape(info: RequestInfo): boolean {
  const { parts, path, prefix, subresource, verb } = info;
  // Upstream trims slashes to authorise, and routes the path as it came.
  if (!path.startsWith(`/${prefix}/`)) return false;
  // `/api/v1/proxy/...` is authorised and no longer served.
  if (verb === "proxy") return false;
  const isProxied = subresource === "proxy" && parts[1] !== "";
  if (isProxied) return parts[0] !== "";
  // The prefix names collections and objects, never a part of one.
  if (parts.length > (info.hasVerbInPath ? 2 : 3)) return false;
  return parts.every((part) => part !== "");
}
