/**
 * Determines the state of owners: from the graph if an informer has shown the owner, else by a live GET.
 *
 * Holds  all parts of a reference must match the owner: group, kind, name, uid, and the namespace of the dependent. An
 *        existing uid under another kind or name is not the owner, and says nothing about correct references to this
 *        uid.
 * Bounds `absentMax` owners that were proved absent are remembered; the oldest is removed and checked again when
 *        needed.
 */
import type { OwnerReference } from "#api/object.ts";
import { parseApiVersion } from "#api/object.ts";
import { ApiError } from "#api/status.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import { isNotFound } from "#client/api-errors.ts";
import { isServed } from "../framework/discovery.ts";
import type { GraphNode, OwnerGraph } from "./graph.ts";
import type { WatchedKinds } from "./kinds.ts";
import { verdictOfSeen, type Verdict } from "./plan.ts";

/** Maximum remembered absent owners, so that a thousand dependents of one owner cause one request. */
const absentMax = 10_000;

interface OwnerPlace {
  readonly group: string;
  readonly kind: string;
  /** "" for a cluster-scoped kind. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export class OwnerVerdicts {
  readonly #client: Client;
  readonly #graph: OwnerGraph;
  readonly #kinds: WatchedKinds;
  readonly #absent = new Set<string>();

  constructor(deps: {
    readonly client: Client;
    readonly graph: OwnerGraph;
    readonly kinds: WatchedKinds;
  }) {
    this.#client = deps.client;
    this.#graph = deps.graph;
    this.#kinds = deps.kinds;
  }

  /** Records that the object was observed to be deleted. */
  rememberAbsent(place: OwnerPlace): void {
    if (this.#absent.size >= absentMax)
      this.#absent.delete(this.#absent.values().next().value ?? "");
    this.#absent.add(placeKey(place));
  }

  async judge(node: GraphNode, { apiVersion, kind, name, uid }: OwnerReference): Promise<Verdict> {
    const group = parseApiVersion(apiVersion)?.group ?? "";
    const place = { group, kind, namespace: node.namespace, name, uid };
    const known = this.#graph.get(uid);
    if (known?.isObserved === true && this.#isNamed(known, place))
      return verdictOfSeen(node, known);
    if (this.#isAbsent(place)) return "absent";
    return this.#ask(place);
  }

  #isNamed({ ref, name }: GraphNode, place: OwnerPlace): boolean {
    if (ref === undefined || ref.group !== place.group || name !== place.name) return false;
    return this.#kinds.kindOf(ref) === place.kind;
  }

  #isAbsent(place: OwnerPlace): boolean {
    return (
      this.#absent.has(placeKey({ ...place, namespace: "" })) || this.#absent.has(placeKey(place))
    );
  }

  /** Asks the server. Dependents of a kind that is not served stay, because the kind may come back. */
  async #ask(place: OwnerPlace): Promise<Verdict> {
    const kind = this.#kinds.find(place.group, place.kind);
    if (kind === undefined) return "unknown";
    const namespace = kind.namespaced ? place.namespace : "";
    // A cluster-scoped object cannot have a namespaced owner; retrying is pointless.
    if (kind.namespaced && namespace === "") return "invalid";
    const uid = await this.#uidOf(kind.ref, namespace, place.name);
    if (uid === undefined) return "unknown";
    if (uid === place.uid) return "unseen";
    this.rememberAbsent({ ...place, namespace });
    return "absent";
  }

  /** The uid of the object with this name; "": it does not exist; undefined: unknown. */
  async #uidOf(ref: ResourceRef, namespace: string, name: string): Promise<string | undefined> {
    try {
      const found = await this.#client.get(ref, namespace, name);
      return found.metadata?.uid ?? "";
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (isAboutObject(error, name)) return "";
      return (await isServed(this.#client, ref)) ? "" : undefined;
    }
  }
}

/** Names, kinds and groups have no spaces. */
function placeKey({ group, kind, namespace, name, uid }: OwnerPlace): string {
  return `${group} ${kind} ${namespace} ${name} ${uid}`;
}

/** Whether a 404 names the object; otherwise it may be about a path that is not served. */
function isAboutObject(error: unknown, name: string): boolean {
  return error instanceof ApiError && error.status.details?.name === name;
}
