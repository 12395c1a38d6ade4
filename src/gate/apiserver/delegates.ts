/**
 * The interface to an aggregator, for the parts of the API that other servers answer. The aggregator is in a room
 * above.
 *
 * Holds  whether a request is passed on depends only on its original path, `/apis/GROUP/VERSION` or below, not on its
 *        request info. The request was authenticated and authorized like any other.
 */
import type { JsonObject } from "#api/object.ts";
import type { PlainResponse } from "#platform/http.ts";
import type { RequestContext } from "#server/context.ts";
import type { RemoteVersion } from "./discovery/merged.ts";

export interface Delegate {
  serve(context: RequestContext): Promise<PlainResponse>;
}

export interface Delegates {
  /** Number of group-versions that other servers answer. */
  readonly size: number;
  /** Returns the server behind a group-version. Undefined: this server. */
  find(group: string, version: string): Delegate | undefined;
  /** Group-versions of other servers for discovery, unordered. */
  versions(): readonly RemoteVersion[];
  /** Addresses of the other servers' OpenAPI version 3 documents in the index. By name: `apis/G/V`. */
  openapiV3(): ReadonlyMap<string, string>;
  /** OpenAPI version 2 documents of the other servers, each with the paths of one group-version. */
  openapiV2(): readonly JsonObject[];
  /** Registers a callback for every change of the three above. */
  onChange(changed: () => void): void;
}

export const noDelegates: Delegates = {
  size: 0,
  find: () => undefined,
  versions: () => [],
  openapiV3: () => new Map(),
  openapiV2: () => [],
  onChange: () => {},
};

export function delegateOf(delegates: Delegates, path: string): Delegate | undefined {
  if (delegates.size === 0 || !path.startsWith("/apis/")) return undefined;
  const [group = "", version = ""] = path.slice("/apis/".length).split("/", 2);
  return group === "" || version === "" ? undefined : delegates.find(group, version);
}
