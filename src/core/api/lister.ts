/**
 * Synchronous reads from the server's own caches, for policy code that runs inside a request
 * (authorizers, admission). Results are at least as new as the last write that this process answered.
 */
import type { AnyObject, GroupResource } from "./object.ts";

export interface Lister {
  /** `namespace` "" for cluster-scoped resources. Frozen. */
  get(resource: GroupResource, namespace: string, name: string): AnyObject | undefined;
  /** `namespace` "" lists all namespaces. Frozen, key order. */
  list(resource: GroupResource, namespace: string): readonly AnyObject[];
}
