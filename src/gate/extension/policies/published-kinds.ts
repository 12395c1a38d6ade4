/**
 * Reads the published kinds of an API server, for a type check outside the server.
 *
 * In     aggregated discovery, and the OpenAPI documents of the group versions that a policy names.
 * Holds  a kind whose published schema is absent, broken or too large is not checked.
 * Limits the reader bounds the documents. Only the types of `typesMax` kinds are kept, by the documents' hashes: a
 *        changed document is read again.
 * Source: k8s.io/apiserver pkg/cel/openapi/resolver (ClientDiscoveryResolver), 1.36.
 */
import { isJsonObject } from "#api/json/json-value.ts";
import type { AnyObject, GroupVersionKind, JsonObject, JsonValue } from "#api/object.ts";
import type { Steps } from "#base/steps.ts";
import type { SchemaNode } from "#cel/schema-types.ts";
import { nodeOfSchema } from "./kind-nodes.ts";
import {
  type CheckedKind,
  checkedKinds,
  type ExpressionWarning,
  typeWarnings,
} from "./type-check.ts";

/** Reads a document. Undefined: it does not exist. Rejects if the server does not answer, or if the answer is too long. */
export type ReadDocument = (
  path: string,
  accept: string,
  signal: AbortSignal,
) => Promise<JsonValue | undefined>;

const plainJson = "application/json";
const discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const typesMax = 64;

export class PublishedKinds {
  readonly #read: ReadDocument;
  /** By address of the document, which contains its hash, and kind. */
  readonly #types = new Map<string, SchemaNode | undefined>();

  constructor(read: ReadDocument) {
    this.#read = read;
  }

  /** Checks a policy as `policyTypeChecker` does, after it has fetched the documents. */
  async check(
    policy: AnyObject,
    signal: AbortSignal,
  ): Promise<Steps<readonly ExpressionWarning[]>> {
    const served = await this.#served(signal);
    const documents = await this.#documents(signal);
    const types = new Map<string, SchemaNode | undefined>();
    for (const kind of checkedKinds(policy, served))
      types.set(nameOf(kind), await this.#type(kind, documents, signal));
    return typeWarnings(policy, {
      served: () => served,
      nodeOf: (kind) => types.get(nameOf(kind)),
    });
  }

  async #served(signal: AbortSignal): Promise<readonly CheckedKind[]> {
    const served: CheckedKind[] = [];
    for (const path of ["/api", "/apis"])
      served.push(...resourcesOf(await this.#read(path, discovery, signal)));
    return served;
  }

  /** Returns the addresses of documents, by path such as `apis/apps/v1`. */
  async #documents(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const index = await this.#read("/openapi/v3", plainJson, signal);
    const found = new Map<string, string>();
    for (const [name, entry] of Object.entries(objectAt(index, "paths"))) {
      const address = isJsonObject(entry) ? entry["serverRelativeURL"] : undefined;
      if (typeof address === "string") found.set(name, address);
    }
    return found;
  }

  async #type(
    kind: GroupVersionKind,
    documents: ReadonlyMap<string, string>,
    signal: AbortSignal,
  ): Promise<SchemaNode | undefined> {
    const { group, version } = kind;
    const address = documents.get(group === "" ? `api/${version}` : `apis/${group}/${version}`);
    if (address === undefined) return undefined;
    const key = `${address} ${kind.kind}`;
    if (this.#types.has(key)) return this.#types.get(key);
    const type = typeIn(await this.#read(address, plainJson, signal), kind);
    if (this.#types.size >= typesMax) this.#types.clear();
    this.#types.set(key, type);
    return type;
  }
}

function nameOf({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}/${kind}`;
}

/** Yields the resources of an APIGroupDiscoveryList. */
function* resourcesOf(list: JsonValue | undefined): Iterable<CheckedKind> {
  for (const one of itemsAt(list, "items")) {
    const group = textAt(objectAt(one, "metadata"), "name");
    for (const served of itemsAt(one, "versions")) {
      const version = textAt(served, "version");
      for (const row of itemsAt(served, "resources")) {
        const [resource, singular] = [textAt(row, "resource"), textAt(row, "singularResource")];
        const kind = textAt(objectAt(row, "responseKind"), "kind");
        if (kind !== "") yield { group, version, resource, singular, kind };
      }
    }
  }
}

function typeIn(document: JsonValue | undefined, kind: GroupVersionKind): SchemaNode | undefined {
  const schemas = objectAt(objectAt(document, "components"), "schemas");
  const isOwn = (schema: JsonValue | undefined): boolean =>
    itemsAt(schema, "x-kubernetes-group-version-kind").some(
      (one) =>
        one["group"] === kind.group && one["version"] === kind.version && one["kind"] === kind.kind,
    );
  const found = Object.values(schemas).find(isOwn);
  if (!isJsonObject(found)) return undefined;
  const find = (name: string): JsonObject | undefined => {
    const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
    return isJsonObject(schema) ? schema : undefined;
  };
  return nodeOfSchema(found, kind.kind, find);
}

function objectAt(value: JsonValue | undefined, field: string): JsonObject {
  const inner = isJsonObject(value) ? value[field] : undefined;
  return isJsonObject(inner) ? inner : {};
}

function itemsAt(value: JsonValue | undefined, field: string): readonly JsonObject[] {
  const inner = isJsonObject(value) ? value[field] : undefined;
  return Array.isArray(inner) ? inner.filter(isJsonObject) : [];
}

function textAt(object: JsonObject, field: string): string {
  const value = object[field];
  return typeof value === "string" ? value : "";
}
