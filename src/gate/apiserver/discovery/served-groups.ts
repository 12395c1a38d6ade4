/**
 * Collects the served groups, each with its versions and their resources, in one pass over all resources. Separate
 * queries for each group and version would need one pass each.
 */
import { compareGroups, compareVersions } from "#api/schema/group-priorities.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";

interface ServedVersion {
  readonly version: string;
  /** Resources, sorted by name. */
  readonly resources: readonly ResourceInfo[];
}

export interface ServedGroup {
  readonly name: string;
  /** Versions, the preferred one first. */
  readonly versions: readonly ServedVersion[];
}

/** Served groups in upstream's order, including the core group, whose name is empty. */
export function servedGroups(resources: readonly ResourceInfo[]): readonly ServedGroup[] {
  return [...Map.groupBy(resources, ({ group }) => group)]
    .sort(([a], [b]) => compareGroups(a, b))
    .map(([name, rows]) => ({ name, versions: versionsIn(name, rows) }));
}

function versionsIn(group: string, rows: readonly ResourceInfo[]): readonly ServedVersion[] {
  return [...Map.groupBy(rows, ({ version }) => version)]
    .sort(([a], [b]) => compareVersions(group, a, b))
    .map(([version, resources]) => ({ version, resources: byName(resources) }));
}

function byName(resources: readonly ResourceInfo[]): readonly ResourceInfo[] {
  return resources.toSorted((a, b) => (a.resource < b.resource ? -1 : 1));
}
