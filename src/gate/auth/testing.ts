/** Fakes for the tests of this room: a lookup over a list of objects, and requests. */
import type { AnyObject } from "#api/object.ts";
import { parseApiVersion } from "#api/object.ts";
import type { Lister } from "#api/lister.ts";
import type { PlainRequest, UserInfo } from "#platform/http.ts";
import type { Attributes } from "./auth.ts";

export class FakeLookup implements Lister {
  #objects: readonly AnyObject[];
  version = 0;

  constructor(objects: readonly AnyObject[] = []) {
    this.#objects = objects;
  }

  put(...objects: readonly AnyObject[]): void {
    this.#objects = [...this.#objects, ...objects];
    this.version += 1;
  }

  remove(predicate: (object: AnyObject) => boolean): void {
    this.#objects = this.#objects.filter((object) => !predicate(object));
    this.version += 1;
  }

  get(resource: { group: string; resource: string }, namespace: string, name: string) {
    return this.list(resource, namespace).find(
      (o) => o.metadata?.name === name && (o.metadata?.namespace ?? "") === namespace,
    );
  }

  list(resource: { group: string; resource: string }, namespace: string): readonly AnyObject[] {
    return this.#objects.filter((o) => {
      const gv = parseApiVersion(o.apiVersion ?? "v1");
      const plural = `${(o.kind ?? "").toLowerCase()}s`;
      const wanted = gv?.group === resource.group && plural === resource.resource;
      return wanted && (namespace === "" || o.metadata?.namespace === namespace);
    });
  }
}

export function attributes(user: UserInfo, over: Partial<Attributes> = {}): Attributes {
  return {
    user,
    verb: "get",
    path: "/api/v1/namespaces/ns/pods/p",
    isResourceRequest: true,
    group: "",
    version: "v1",
    resource: "pods",
    subresource: "",
    namespace: "ns",
    name: "p",
    ...over,
  };
}

export function request(over: Partial<PlainRequest> = {}): PlainRequest {
  return {
    method: "GET",
    path: "/api",
    query: "",
    headers: {},
    body: { kind: "none" },
    peer: { kind: "socket", address: "127.0.0.1:1" },
    signal: new AbortController().signal,
    ...over,
  };
}
