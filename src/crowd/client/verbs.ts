/**
 * A Client over any exchange: turns verbs into requests. It trusts the server's answers to have the
 * requested kind (this is the one place where an answer gets its type).
 */
import type { AnyObject, KubeObject } from "#api/object.ts";
import { resourceByPath } from "#api/schema/resources.ts";
import { assert } from "#base/assert.ts";
import { given } from "#base/given.ts";
import type {
  CallOptions,
  Client,
  DeleteCall,
  ListCall,
  ListOf,
  PatchType,
  RawCall,
  ResourceRef,
  WatchCall,
  WatchedEvent,
} from "./client.ts";
import { partialEvent, partialList, partialType } from "./partial-metadata.ts";
import type { ApiRequest, Transport, TypeMeta } from "./transport.ts";
import { callQuery, deleteBody, listCallQuery, resourcePath, watchQuery } from "./path.ts";

const patchMediaTypes: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
};

const json = "application/json";

export function verbsClient(exchange: Transport): Client {
  return new VerbsClient(exchange);
}

class VerbsClient implements Client {
  readonly #exchange: Transport;

  constructor(exchange: Transport) {
    this.#exchange = exchange;
  }

  get<T extends KubeObject>(
    ref: ResourceRef,
    namespace: string,
    name: string,
    options: CallOptions = {},
  ): Promise<T> {
    const path = resourcePath(ref, namespace, requireName(name), options.subresource ?? "");
    return this.#call<T>({ ...blank(ref, "GET", path, ""), signal: options.signal });
  }

  async list<T extends KubeObject>(ref: ResourceRef, call: ListCall): Promise<ListOf<T>> {
    const path = resourcePath(ref, call.namespace ?? "", "", "");
    const { signal, isReadOnly: isLazy = false } = call;
    const request = { ...blank(ref, "GET", path, listCallQuery(call)), signal, isLazy };
    if (call.metadataOnly !== true) return this.#call<ListOf<T>>(request);
    const accept = partialType("PartialObjectMetadataList");
    return partialList(await this.#call<ListOf<T>>({ ...request, accept }));
  }

  create<T extends KubeObject>(
    ref: ResourceRef,
    namespace: string,
    object: T,
    options: CallOptions = {},
  ): Promise<T> {
    // A subresource of a named object (serviceaccounts/token) has the name in its metadata.
    const name = options.subresource === undefined ? "" : requireName(object.metadata?.name);
    const path = resourcePath(ref, namespace, name, options.subresource ?? "");
    const request = blank(ref, "POST", path, callQuery(options));
    const bodyKind = ownKind(ref, options);
    return this.#call<T>({ ...request, body: object, bodyKind, signal: options.signal });
  }

  createSub(
    ref: ResourceRef,
    namespace: string,
    name: string,
    subresource: string,
    object: AnyObject,
  ): Promise<AnyObject> {
    const path = resourcePath(ref, namespace, requireName(name), subresource);
    return this.#call<AnyObject>({ ...blank(ref, "POST", path, ""), body: object });
  }

  update<T extends KubeObject>(
    ref: ResourceRef,
    namespace: string,
    object: T,
    options: CallOptions = {},
  ): Promise<T> {
    const name = requireName(object.metadata?.name);
    const path = resourcePath(ref, namespace, name, options.subresource ?? "");
    const request = blank(ref, "PUT", path, callQuery(options));
    const bodyKind = ownKind(ref, options);
    return this.#call<T>({ ...request, body: object, bodyKind, signal: options.signal });
  }

  patch<T extends KubeObject>(
    ref: ResourceRef,
    namespace: string,
    name: string,
    type: PatchType,
    patch: unknown,
    options: CallOptions = {},
  ): Promise<T> {
    assert(typeof patch === "object" && patch !== null, "a patch is an object or an array");
    const path = resourcePath(ref, namespace, requireName(name), options.subresource ?? "");
    const query = callQuery(options);
    const contentType = patchMediaTypes[type];
    return this.#call<T>({
      ...blank(ref, "PATCH", path, query),
      body: patch,
      contentType,
      signal: options.signal,
    });
  }

  delete(
    ref: ResourceRef,
    namespace: string,
    name: string,
    options: DeleteCall = {},
  ): Promise<AnyObject> {
    const path = resourcePath(ref, namespace, requireName(name), options.subresource ?? "");
    const request = blank(ref, "DELETE", path, "");
    return this.#call({ ...request, body: deleteBody(options), signal: options.signal });
  }

  async deleteCollection(
    ref: ResourceRef,
    namespace: string,
    call: ListCall & DeleteCall,
  ): Promise<void> {
    const path = resourcePath(ref, namespace, "", "");
    const request = blank(ref, "DELETE", path, listCallQuery(call));
    await this.#call({ ...request, body: deleteBody(call), signal: call.signal });
  }

  watch<T extends KubeObject>(
    ref: ResourceRef,
    call: WatchCall,
    deliver: (events: readonly WatchedEvent<T>[]) => void,
  ): Promise<void> {
    const path = resourcePath(ref, call.namespace ?? "", "", "");
    const { signal, isReadOnly: isLazy = false } = call;
    const request = { ...blank(ref, "GET", path, watchQuery(call)), signal, isLazy };
    // The server sends the watched kind; see the header.
    const take = deliver as unknown as (events: readonly WatchedEvent<AnyObject>[]) => void;
    if (call.metadataOnly !== true) return this.#exchange.watch(request, take);
    const accept = partialType("PartialObjectMetadata");
    return this.#exchange.watch({ ...request, accept }, (events) => take(events.map(partialEvent)));
  }

  raw(path: string, { query, signal, bodyBytesMax }: RawCall = {}): Promise<unknown> {
    const limits = given({ signal, bodyBytesMax });
    if (query !== undefined)
      return this.#exchange.call({ ...blank(undefined, "GET", path, query), ...limits });
    const [before = "", after = ""] = path.split("?", 2);
    return this.#exchange.call({ ...blank(undefined, "GET", before, after), ...limits });
  }

  async #call<T>(request: ApiRequest): Promise<T> {
    // The server answers with the kind that was asked for; see the header.
    return (await this.#exchange.call(request)) as T;
  }
}

function blank(
  ref: ResourceRef | undefined,
  method: ApiRequest["method"],
  path: string,
  query: string,
): ApiRequest {
  return {
    kind: ref && kindOf(ref),
    isLazy: false,
    method,
    path,
    query,
    body: undefined,
    contentType: json,
    accept: json,
    signal: undefined,
  };
}

/** Bodies of subresources other than status have a kind of their own. */
function ownKind(ref: ResourceRef, { subresource }: CallOptions): TypeMeta | undefined {
  return subresource === undefined || subresource === "status" ? kindOf(ref) : undefined;
}

function kindOf({ group, version, resource }: ResourceRef): TypeMeta | undefined {
  const info = resourceByPath(group, version, resource);
  if (info === undefined) return undefined;
  return { apiVersion: group === "" ? version : `${group}/${version}`, kind: info.kind };
}

/** An empty name would address the collection instead of one object. */
function requireName(name: string | undefined): string {
  assert(name !== undefined && name !== "", "a request for one object needs its name");
  return name;
}
