/** What a relay must know of a resource to mirror it: where it is served and what its objects are called. */
import type { Printer } from "#api/printers/printer.ts";
import { resourceByPath } from "#api/schema/resources.ts";

export interface MirroredKind {
  /** "" for core. */
  readonly group: string;
  readonly version: string;
  /** Plural: `pods`. */
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** `apps/v1`. */
  readonly apiVersion: string;
  /** What its CustomResourceDefinition says, when it has one that the relay knows. */
  readonly custom?: CustomShape;
}

interface CustomShape {
  /** Changes with the definition. */
  readonly key: string;
  readonly listKind: string;
  /** As field selectors name them: `spec.color`. */
  readonly selectableFields: readonly string[];
  readonly printer: Printer;
}

/** Where custom resources are defined. */
export const definitionsKind: MirroredKind = {
  group: "apiextensions.k8s.io",
  version: "v1",
  resource: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
  apiVersion: "apiextensions.k8s.io/v1",
};

/** `/api/v1/pods`, `/apis/apps/v1/deployments`. */
export function collectionPath(kind: MirroredKind): string {
  const root = kind.group === "" ? "/api" : `/apis/${kind.group}`;
  return `${root}/${kind.version}/${kind.resource}`;
}

/** One text per mirrored resource: `apps/v1/deployments`, `v1/pods`. */
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

/** Kinds of our own table are built in; others have a custom resource definition or an aggregated server. */
export function isBuiltin({ group, version, resource }: MirroredKind): boolean {
  return resourceByPath(group, version, resource) !== undefined;
}
