/**
 * Discovery documents of one level per request: `/api`, `/api/v1`, `/apis/G/V`. The documents of groups are in
 * merged.ts.
 *
 * Pure functions of the served resources, built-in and custom. Groups and versions have upstream's order; resources are
 * ordered by name, each followed by its subresources. As in upstream, documents of the core group's old path have no
 * `apiVersion`.
 */
import { apiVersionOf, type JsonObject } from "#api/object.ts";
import { compareVersions } from "#api/schema/group-priorities.ts";
import type { ResourceInfo, SubresourceInfo } from "#api/schema/resource-info.ts";
import { given } from "#base/given.ts";
import { storageVersionHash } from "./storage-version-hash.ts";

/** Document of `/api`. `serverAddress`: the host and port at which clients reach this server. */
export function apiVersionsDocument(
  resources: readonly ResourceInfo[],
  serverAddress: string,
): JsonObject {
  return {
    kind: "APIVersions",
    versions: versionsOf(resources, ""),
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
  };
}

/** Document of `/api/v1` or `/apis/G/V`. @returns undefined for a group-version that is not served. */
export function apiResourceListDocument(
  resources: readonly ResourceInfo[],
  group: string,
  version: string,
): JsonObject | undefined {
  const rows = resourcesOf(resources, group, version);
  if (rows.length === 0) return undefined;
  return {
    kind: "APIResourceList",
    ...(group === "" ? {} : { apiVersion: "v1" }),
    groupVersion: apiVersionOf({ group, version }),
    resources: rows.flatMap((row) => [
      resourceEntry(row),
      ...row.subresources.map((sub) => subresourceEntry(row, sub)),
    ]),
  };
}

/** Versions of a group, preferred first. */
export function versionsOf(resources: readonly ResourceInfo[], group: string): readonly string[] {
  const rows = resources.filter((row) => row.group === group);
  const versions = new Set(rows.map((row) => row.version));
  return [...versions].sort((a, b) => compareVersions(group, a, b));
}

/** Resources of a group-version, sorted by name. */
function resourcesOf(
  resources: readonly ResourceInfo[],
  group: string,
  version: string,
): readonly ResourceInfo[] {
  return resources
    .filter((row) => row.group === group && row.version === version)
    .sort((a, b) => (a.resource < b.resource ? -1 : 1));
}

function resourceEntry(row: ResourceInfo): JsonObject {
  const hash = storageVersionHash(row);
  return {
    name: row.resource,
    singularName: row.singular,
    namespaced: row.namespaced,
    kind: row.kind,
    verbs: row.verbs,
    ...(row.shortNames.length === 0 ? {} : { shortNames: row.shortNames }),
    ...(row.categories.length === 0 ? {} : { categories: row.categories }),
    ...given({ storageVersionHash: hash }),
  };
}

function subresourceEntry(row: ResourceInfo, sub: SubresourceInfo): JsonObject {
  return {
    name: `${row.resource}/${sub.name}`,
    singularName: "",
    namespaced: row.namespaced,
    ...given({ group: sub.group, version: sub.version }),
    kind: sub.kind,
    verbs: sub.verbs,
  };
}
