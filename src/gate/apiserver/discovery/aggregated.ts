/**
 * Aggregated discovery: everything in two documents (`/api` and `/apis`), for clients that accept
 * `application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`.
 */
import type { ResourceInfo, SubresourceInfo } from "#api/schema/resource-info.ts";
import type { AggregatedDocument } from "./aggregated-protobuf.ts";
import { groupsOf, resourcesOf, versionsOf } from "./discovery.ts";

interface AggregatedInput {
  readonly resources: readonly ResourceInfo[];
  /** `<group>/<version>` of versions whose list may be out of date. */
  readonly stale: ReadonlySet<string>;
}

type Group = AggregatedDocument["items"][number];
type Resource = Group["versions"][number]["resources"][number];
type Subresource = NonNullable<Resource["subresources"]>[number];

/** `/api`: the core group. */
export function aggregatedCoreDocument(input: AggregatedInput): AggregatedDocument {
  return listDocument([groupItem(input, "")]);
}

/** `/apis`: all other groups. */
export function aggregatedGroupsDocument(input: AggregatedInput): AggregatedDocument {
  return listDocument(groupsOf(input.resources).map((group) => groupItem(input, group)));
}

function listDocument(items: AggregatedDocument["items"]): AggregatedDocument {
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items,
  };
}

function groupItem(input: AggregatedInput, group: string): Group {
  return {
    metadata: group === "" ? {} : { name: group },
    versions: versionsOf(input.resources, group).map((version) => ({
      version,
      resources: resourcesOf(input.resources, group, version).map(resourceItem),
      freshness: input.stale.has(`${group}/${version}`) ? "Stale" : "Current",
    })),
  };
}

function resourceItem(row: ResourceInfo): Resource {
  return {
    resource: row.resource,
    responseKind: { ...ownGroupVersion(row), kind: row.kind },
    scope: row.namespaced ? "Namespaced" : "Cluster",
    singularResource: row.singular,
    verbs: row.verbs,
    ...(row.shortNames.length === 0 ? {} : { shortNames: row.shortNames }),
    ...(row.categories.length === 0 ? {} : { categories: row.categories }),
    ...(row.subresources.length === 0
      ? {}
      : { subresources: row.subresources.map((sub) => subresourceItem(row, sub)) }),
  };
}

/** Empty: those of the list it stands in. Upstream says them of custom resources only. */
function ownGroupVersion({ isCustom, group, version }: ResourceInfo): {
  readonly group: string;
  readonly version: string;
} {
  return isCustom === true ? { group, version } : { group: "", version: "" };
}

function subresourceItem(row: ResourceInfo, sub: SubresourceInfo): Subresource {
  return {
    subresource: sub.name,
    responseKind: {
      group: sub.group ?? ownGroupVersion(row).group,
      version: sub.version ?? ownGroupVersion(row).version,
      kind: sub.kind,
    },
    verbs: sub.verbs,
  };
}
