/** The served resources, read from discovery documents; for controllers over every kind. */
import type { Client, ResourceRef } from "#client/client.ts";
import { isNotFound } from "#client/api-errors.ts";

export interface DiscoveredResource {
  readonly ref: ResourceRef;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

interface ResourceList {
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs: readonly string[];
  }[];
}

interface GroupList {
  readonly groups?: readonly {
    readonly name: string;
    readonly versions?: readonly { readonly version: string }[];
    readonly preferredVersion?: { readonly version: string };
  }[];
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

export interface Discovery {
  readonly resources: readonly DiscoveredResource[];
  /** Group-versions whose list could not be read, so that their contents are unknown rather than absent. */
  readonly failed: readonly string[];
}

/**
 * Returns each resource once, without subresources: in its group's preferred version, or in the first other version
 * that has it. Rejects when `/apis` fails.
 */
export async function discover(client: Client): Promise<Discovery> {
  const groups = ((await client.raw("/apis")) as GroupList).groups ?? [];
  const all = [{ group: "", version: "v1" }, ...groups.flatMap(versionsOf)];
  const lists = await Promise.allSettled(all.map((gv) => listOne(client, gv)));
  const failed = all.filter((_gv, at) => lists[at]?.status === "rejected");
  const found = lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
  const byName = new Map<string, DiscoveredResource>();
  for (const one of found) {
    const name = `${one.ref.group}/${one.ref.resource}`;
    if (!byName.has(name)) byName.set(name, one);
  }
  return {
    resources: [...byName.values()],
    failed: failed.map(groupVersionText),
  };
}

/** Whether the server currently lists this resource. Rejects when that is unknown. */
export async function isServed(client: Client, ref: ResourceRef): Promise<boolean> {
  try {
    const served = await listOne(client, ref);
    return served.some((one) => one.ref.resource === ref.resource);
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** The form used in `Discovery.failed`. */
export function groupVersionText({ group, version }: GroupVersion): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Beginning with the preferred version. */
function versionsOf(group: NonNullable<GroupList["groups"]>[number]): readonly GroupVersion[] {
  const listed = (group.versions ?? []).map(({ version }) => version);
  const preferred = group.preferredVersion?.version;
  const versions = new Set(preferred === undefined ? listed : [preferred, ...listed]);
  return [...versions].map((version) => ({ group: group.name, version }));
}

async function listOne(
  client: Client,
  { group, version }: GroupVersion,
): Promise<readonly DiscoveredResource[]> {
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const list = (await client.raw(path)) as ResourceList;
  return (list.resources ?? [])
    .filter((resource) => !resource.name.includes("/"))
    .map(({ name, kind, namespaced, verbs }) => ({
      ref: { group, version, resource: name },
      kind,
      namespaced,
      verbs,
    }));
}
