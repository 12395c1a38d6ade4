/**
 * The object model that every room shares: a Kubernetes object is plain JSON data.
 *
 * Objects are deeply readonly in type and, once they have been passed on, never changed. To get another
 * object, make one (spread, or `structuredClone` and edit before passing it on).
 * The typed kinds (Pod, Deployment ...) are generated: `#api/gen/types.ts`.
 */

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [field: string]: JsonValue | undefined;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: object;
  readonly subresource?: string;
}

export interface ObjectMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly selfLink?: string;
  readonly uid?: string;
  /** Opaque above the registry; a decimal integer that only grows within one resource. */
  readonly resourceVersion?: string;
  readonly generation?: number;
  /** RFC 3339, second precision, UTC. */
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number | bigint;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/** Any object of any kind. `apiVersion` and `kind` are set on every object the server hands out. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}

/** An object as a set of fields, for code that handles every kind (patch, schema walks). */
export type AnyObject = KubeObject & { readonly [field: string]: unknown };

export interface GroupVersion {
  /** "" for the core group. */
  readonly group: string;
  readonly version: string;
}

export interface GroupVersionKind extends GroupVersion {
  readonly kind: string;
}

export interface GroupResource {
  readonly group: string;
  /** Plural, lower case: `pods`. */
  readonly resource: string;
}

/** `apps/v1` or, for the core group, `v1`. */
export function apiVersionOf(gv: GroupVersion): string {
  return gv.group === "" ? gv.version : `${gv.group}/${gv.version}`;
}

/** The inverse of apiVersionOf; undefined for a text with more than one slash. */
export function parseApiVersion(apiVersion: string): GroupVersion | undefined {
  const parts = apiVersion.split("/");
  if (parts.length === 1) return { group: "", version: parts[0] ?? "" };
  if (parts.length === 2) return { group: parts[0] ?? "", version: parts[1] ?? "" };
  return undefined;
}

/** Namespaces themselves; their path has the form of a path within a namespace. */
export function isNamespaceResource({ group, resource }: GroupResource): boolean {
  return group === "" && resource === "namespaces";
}

/** The name of a resource in messages: `pods` or `deployments.apps`. */
export function qualifiedResource(gr: GroupResource): string {
  return gr.group === "" ? gr.resource : `${gr.resource}.${gr.group}`;
}
