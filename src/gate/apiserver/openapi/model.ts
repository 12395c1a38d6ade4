/** Published operations as neutral data, from which OpenAPI versions 2 and 3 are both written. */
import type { GroupVersionKind, JsonObject } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";

export interface ParameterModel {
  readonly name: string;
  readonly in: "query" | "path";
  readonly type: "string" | "integer" | "boolean";
  readonly description: string;
}

/** Content of a body or a response: a definition by name, or plain text. */
export type Content = { readonly definition: string } | "text";

export type Method = "get" | "put" | "post" | "delete" | "options" | "head" | "patch";

export interface OperationModel {
  readonly method: Method;
  readonly id: string;
  readonly description: string;
  readonly tag: string;
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
  readonly body?: { readonly definition: string; readonly required: boolean };
  /** Query parameters; those in the path and the body are not included. */
  readonly parameters: readonly ParameterModel[];
  /** Content by status code; the renderers add 401. */
  readonly responses: Readonly<Record<string, Content>>;
  /** `x-kubernetes-action`; `gvk` is its group-version-kind. Absent: a discovery path. */
  readonly action?: string;
  readonly gvk?: GroupVersionKind;
}

export interface PathModel {
  readonly path: string;
  /** Path parameters and `pretty`. */
  readonly parameters: readonly ParameterModel[];
  readonly operations: readonly OperationModel[];
}

/** The definition of a kind that is not built in. */
export interface CustomDefinition {
  /** Name of the definition: `com.example.stable.v1.CronTab`. */
  readonly name: string;
  /** Kinds that have this schema. */
  readonly kinds: readonly GroupVersionKind[];
  /** OpenAPI v3 schema, complete with its x-kubernetes extensions. */
  readonly v3: JsonObject;
  /** The same schema, limited to OpenAPI v2. */
  readonly v2: JsonObject;
}

/** The published API; all documents are derived from it. */
export interface ApiSurface {
  /** `v1.36.0`: the version in each document's info. */
  readonly version: string;
  readonly resources: readonly ResourceInfo[];
  /** Definitions of custom kinds and their lists, found by their x-kubernetes-group-version-kind. */
  readonly custom: readonly CustomDefinition[];
}
