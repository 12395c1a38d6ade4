/**
 * Merges the discovery of this server and of the servers behind it: `/apis`, `/apis/G` and the aggregated `/apis`.
 *
 * Holds  groups are ordered by the highest priority of their versions, then by name; versions by priority, then by
 *        compareKubeVersions. The description of a group-version comes from the server that answers it.
 */
import { apiVersionOf, type JsonObject } from "#api/object.ts";
import {
  compareKubeVersions,
  customGroupPriority,
  groupPriority,
  versionPriority,
} from "#api/schema/group-priorities.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";
import { given } from "#base/given.ts";
import type { Steps } from "#base/steps.ts";
import type { AggregatedDocument } from "./aggregated-protobuf.ts";
import { aggregatedGroups } from "./aggregated.ts";

type AggregatedGroup = AggregatedDocument["items"][number];
type AggregatedVersion = AggregatedGroup["versions"][number];
export type RemoteResource = AggregatedVersion["resources"][number];
export type RemoteSubresource = NonNullable<RemoteResource["subresources"]>[number];

/** A group-version that another server answers. */
export interface RemoteVersion {
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  /** Resources at the last answer; empty when the server has never answered. */
  readonly resources: readonly RemoteResource[];
  /** Whether the server failed to answer the last request. */
  readonly isStale: boolean;
}

interface Row {
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
}

interface Group {
  readonly name: string;
  readonly versions: readonly Row[];
}

/** Document of `/apis`. */
export function mergedGroupList(
  resources: readonly ResourceInfo[],
  remote: readonly RemoteVersion[],
): JsonObject {
  const groups = mergedGroups(resources, remote).map(groupEntry);
  return { kind: "APIGroupList", apiVersion: "v1", groups };
}

/** Document of `/apis/G`. @returns undefined for a group that no server serves. */
export function mergedGroup(
  resources: readonly ResourceInfo[],
  remote: readonly RemoteVersion[],
  name: string,
): JsonObject | undefined {
  const group = mergedGroups(resources, remote).find((one) => one.name === name);
  if (group === undefined) return undefined;
  return { kind: "APIGroup", apiVersion: "v1", ...groupEntry(group) };
}

/** The aggregated document of `/apis`. */
export function* mergedAggregated(
  resources: readonly ResourceInfo[],
  remote: readonly RemoteVersion[],
): Steps<AggregatedDocument> {
  const own = yield* aggregatedGroups({ resources, stale: new Set() });
  const described = new Map<string, AggregatedVersion>();
  for (const { metadata, versions } of own.items) {
    const { name = "" } = metadata as { readonly name?: string };
    for (const version of versions) described.set(`${name}/${version.version}`, version);
  }
  for (const one of remote) {
    const { group, version, resources: rows, isStale } = one;
    const freshness = isStale ? "Stale" : "Current";
    described.set(`${group}/${version}`, { version, resources: rows, freshness });
  }
  const items = mergedGroups(resources, remote).map(({ name, versions }) => ({
    metadata: { name },
    versions: versions.flatMap((row) => described.get(`${name}/${row.version}`) ?? []),
  }));
  return { ...own, items };
}

/** Groups other than the core one, in order. */
function mergedGroups(
  resources: readonly ResourceInfo[],
  remote: readonly RemoteVersion[],
): readonly Group[] {
  const rows = new Map<string, Row>();
  for (const { group, version } of resources) {
    const priority = groupPriority(group) ?? customGroupPriority;
    const own = { groupPriority: priority, versionPriority: versionPriority(group, version) };
    rows.set(`${group}/${version}`, { group, version, ...own });
  }
  for (const row of remote) rows.set(`${row.group}/${row.version}`, row);
  const byGroup = Map.groupBy(rows.values(), ({ group }) => group);
  byGroup.delete("");
  return [...byGroup]
    .map(([name, versions]) => ({ name, versions: versions.sort(compareRows) }))
    .sort(compareGroups);
}

function compareRows(a: Row, b: Row): number {
  const byPriority = b.versionPriority - a.versionPriority;
  return byPriority === 0 ? compareKubeVersions(a.version, b.version) : byPriority;
}

function compareGroups(a: Group, b: Group): number {
  const priority = ({ versions }: Group): number =>
    versions.reduce((most, row) => Math.max(most, row.groupPriority), 0);
  const byPriority = priority(b) - priority(a);
  if (byPriority !== 0) return byPriority;
  return a.name < b.name ? -1 : 1;
}

function groupEntry({ name, versions }: Group): JsonObject {
  const listed = versions.map(({ group, version }) => ({
    groupVersion: apiVersionOf({ group, version }),
    version,
  }));
  const [preferredVersion] = listed;
  return {
    name,
    versions: listed,
    ...given({ preferredVersion }),
  };
}
