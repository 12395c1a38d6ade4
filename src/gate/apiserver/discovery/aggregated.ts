/**
 * Aggregated discovery: all resources in two documents (`/api` and `/apis`), for clients that accept
 * `application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`.
 */
import type { ResourceInfo, SubresourceInfo } from "#api/schema/resource-info.ts";
import type { Steps } from "#base/steps.ts";
import type { AggregatedDocument } from "./aggregated-protobuf.ts";
import { type ServedGroup, servedGroups } from "./served-groups.ts";

interface AggregatedInput {
  readonly resources: readonly ResourceInfo[];
  /** `<group>/<version>` of versions whose resource list may be out of date. */
  readonly stale: ReadonlySet<string>;
}

type Group = AggregatedDocument["items"][number];
type Resource = Group["versions"][number]["resources"][number];
type Subresource = NonNullable<Resource["subresources"]>[number];

/** Document of `/api`: the core group. */
export function aggregatedCore(input: AggregatedInput): Steps<AggregatedDocument> {
  return documentOf(input, (name) => name === "");
}

/** Document of `/apis`: all other groups. */
export function aggregatedGroups(input: AggregatedInput): Steps<AggregatedDocument> {
  return documentOf(input, (name) => name !== "");
}

/** Makes the document; one step per group. */
function* documentOf(
  input: AggregatedInput,
  isWanted: (group: string) => boolean,
): Steps<AggregatedDocument> {
  const items: Group[] = [];
  for (const group of servedGroups(input.resources)) {
    if (!isWanted(group.name)) continue;
    items.push(groupItem(input, group));
    yield;
  }
  return listDocument(items);
}

function listDocument(items: AggregatedDocument["items"]): AggregatedDocument {
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items,
  };
}

function groupItem({ stale }: AggregatedInput, { name, versions }: ServedGroup): Group {
  return {
    metadata: name === "" ? {} : { name },
    versions: versions.map(({ version, resources }) => ({
      version,
      resources: resources.map(resourceItem),
      freshness: stale.has(`${name}/${version}`) ? "Stale" : "Current",
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

/** Group and version of a resource; empty unless custom, as upstream, because the enclosing list has them. */
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
