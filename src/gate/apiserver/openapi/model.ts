/**
 * Published operations as neutral data: what versions 2 and 3 of OpenAPI both say, each in its way.
 */
import type { GroupVersionKind, JsonObject } from "#api/object.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";

export interface ParameterModel {
  readonly name: string;
  readonly in: "query" | "path";
  readonly type: "string" | "integer" | "boolean";
  readonly description: string;
}

/** What a body or a response holds: a definition by name, or plain text. */
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
  /** Without those in the path and without the body. */
  readonly parameters: readonly ParameterModel[];
  /** Status code -> content; 401 is added by the renderers. */
  readonly responses: Readonly<Record<string, Content>>;
  /** `x-kubernetes-action` and `-group-version-kind`; absent for discovery paths. */
  readonly action?: string;
  readonly gvk?: GroupVersionKind;
}

export interface PathModel {
  readonly path: string;
  /** Path parameters and `pretty`. */
  readonly parameters: readonly ParameterModel[];
  readonly operations: readonly OperationModel[];
}

/** A kind that is not built in. */
export interface CustomDefinition {
  /** `com.example.stable.v1.CronTab`. */
  readonly name: string;
  /** Whose schema it is. */
  readonly kinds: readonly GroupVersionKind[];
  /** OpenAPI v3 schema, complete with its x-kubernetes extensions. */
  readonly v3: JsonObject;
  /** The same within what v2 can say. */
  readonly v2: JsonObject;
}

/** Everything that is published; documents are functions of this. */
export interface ApiSurface {
  /** `v1.36.0`: stands in the info of each document. */
  readonly version: string;
  readonly resources: readonly ResourceInfo[];
  /** Definitions of custom kinds and their lists, found by their x-kubernetes-group-version-kind. */
  readonly custom: readonly CustomDefinition[];
}
