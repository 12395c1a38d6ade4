/**
 * Verdicts on owners: from the graph where an informer has shown the owner, else by a live GET.
 *
 * Bounds  `absentMax` uids proved absent are remembered; the oldest is asked for again.
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

/** Uids proved absent, so that a thousand dependents of one owner ask once. */
const absentMax = 10_000;

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

  /** The object with this uid was seen to be deleted. */
  rememberAbsent(uid: string): void {
    if (this.#absent.size >= absentMax)
      this.#absent.delete(this.#absent.values().next().value ?? "");
    this.#absent.add(uid);
  }

  async judge(node: GraphNode, owner: OwnerReference): Promise<Verdict> {
    const known = this.#graph.get(owner.uid);
    if (known?.isObserved === true) return verdictOfSeen(node, known);
    if (this.#absent.has(owner.uid)) return "absent";
    return this.#ask(node, owner);
  }

  /** Asks the server. A kind it does not serve may come back: its dependents live. */
  async #ask(node: GraphNode, owner: OwnerReference): Promise<Verdict> {
    const group = parseApiVersion(owner.apiVersion)?.group ?? "";
    const kind = this.#kinds.find(group, owner.kind);
    if (kind === undefined) return "unseen";
    const namespace = kind.namespaced ? node.namespace : "";
    // A cluster-scoped object cannot have a namespaced owner: an error that no retry mends.
    if (kind.namespaced && namespace === "") return "solid";
    const uid = await this.#uidOf(kind.ref, namespace, owner.name);
    if (uid === undefined || uid === owner.uid) return "unseen";
    this.rememberAbsent(owner.uid);
    return "absent";
  }

  /** The uid of the object under this name; "" when there is none, undefined when nobody can say. */
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

/** A 404 that names the object. Without a name it may be of a path that nobody serves (any more). */
function isAboutObject(error: unknown, name: string): boolean {
  return error instanceof ApiError && error.status.details?.name === name;
}
