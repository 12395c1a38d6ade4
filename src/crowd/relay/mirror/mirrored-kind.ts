/** Facts about a resource that a relay needs to mirror it: its path and the names of its kind. */
import type { Printer } from "#api/printers/printer.ts";
import { resourceByPath } from "#api/schema/resources.ts";

export interface MirroredKind {
  /** API group; "" for the core group. */
  readonly group: string;
  readonly version: string;
  /** Plural name: `pods`. */
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Group and version: `apps/v1`. */
  readonly apiVersion: string;
  /** Facts from its CustomResourceDefinition. Absent: it has none, or none that the relay knows. */
  readonly custom?: CustomShape;
}

interface CustomShape {
  /** Key that changes whenever the definition changes. */
  readonly key: string;
  readonly listKind: string;
  /** Selectable fields, named as in field selectors: `spec.color`. */
  readonly selectableFields: readonly string[];
  readonly printer: Printer;
}

/** The kind CustomResourceDefinition. */
export const definitionsKind: MirroredKind = {
  group: "apiextensions.k8s.io",
  version: "v1",
  resource: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
  apiVersion: "apiextensions.k8s.io/v1",
};

/** Returns the path of the collection: `/api/v1/pods`, `/apis/apps/v1/deployments`. */
export function collectionPath(kind: MirroredKind): string {
  const root = kind.group === "" ? "/api" : `/apis/${kind.group}`;
  return `${root}/${kind.version}/${kind.resource}`;
}

/** Returns a text that identifies the resource: `apps/v1/deployments`, `v1/pods`. */
export function kindId(kind: {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}): string {
  const { group, version, resource } = kind;
  return group === "" ? `${version}/${resource}` : `${group}/${version}/${resource}`;
}

export function listKindOf(kind: MirroredKind): string {
  return kind.custom?.listKind ?? `${kind.kind}List`;
}

/** Whether the kind is in Pilothouse's own table; others come from a custom resource definition or an aggregated server. */
export function isBuiltin({ group, version, resource }: MirroredKind): boolean {
  return resourceByPath(group, version, resource) !== undefined;
}
