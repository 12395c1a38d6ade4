/** Description of a resource: the type of a row of `resources.ts` and of every CRD. */

export type Verb =
  | "create"
  | "delete"
  | "deletecollection"
  | "get"
  | "list"
  | "patch"
  | "update"
  | "watch";

export interface SubresourceInfo {
  /** `status`, `scale`, `binding` ... */
  readonly name: string;
  readonly kind: string;
  /** Set when the kind belongs to another group-version than the resource: Scale, Eviction, TokenRequest. */
  readonly group?: string;
  readonly version?: string;
  readonly verbs: readonly Verb[];
}

export interface ResourceInfo {
  /** "" for core. */
  readonly group: string;
  readonly version: string;
  /** Plural: `pods`. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  /** Absent: the kind plus `List`, such as `PodList`. Custom resources may choose another name. */
  readonly listKind?: string;
  readonly namespaced: boolean;
  /** Sorted. Empty for resources that exist only through subresources (none today). */
  readonly verbs: readonly Verb[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly SubresourceInfo[];
  /** Defined by a CustomResourceDefinition. */
  readonly isCustom?: true;
  /** Upstream's feature gates that are on here and off by default in 1.36; absent: none. */
  readonly gates?: ReadonlySet<string>;
  /**
   * The storage of objects, and the version in which they are stored. Two rows may share one storage
   * (autoscaling v1 and v2, core and events.k8s.io events). Absent: not persisted, answered when created.
   */
  readonly storage?: {
    readonly group: string;
    readonly version: string;
    readonly resource: string;
  };
}
