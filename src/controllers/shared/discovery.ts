/** What the server serves, from its discovery documents: for loops over every kind of object. */
import type { Client, ResourceRef } from "#client/client.ts";

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
    readonly preferredVersion?: { readonly version: string };
  }[];
}

export interface Discovery {
  readonly resources: readonly DiscoveredResource[];
  /** Group-versions whose list could not be read: what they hold is unknown, not absent. */
  readonly failed: readonly string[];
}

/** Each resource once, in its group's preferred version; no subresources. Rejects when `/apis` fails. */
export async function discover(client: Client): Promise<Discovery> {
  const groups = ((await client.raw("/apis")) as GroupList).groups ?? [];
  const versions = groups.flatMap(({ name, preferredVersion }) =>
    preferredVersion === undefined ? [] : [{ group: name, version: preferredVersion.version }],
  );
  const all = [{ group: "", version: "v1" }, ...versions];
  const lists = await Promise.allSettled(all.map((gv) => listOne(client, gv)));
  const failed = all.filter((_gv, at) => lists[at]?.status === "rejected");
  return {
    resources: lists.flatMap((list) => (list.status === "fulfilled" ? list.value : [])),
    failed: failed.map(({ group, version }) => `${group}/${version}`),
  };
}

async function listOne(
  client: Client,
  gv: { readonly group: string; readonly version: string },
): Promise<readonly DiscoveredResource[]> {
  const path = gv.group === "" ? `/api/${gv.version}` : `/apis/${gv.group}/${gv.version}`;
  const list = (await client.raw(path)) as ResourceList;
  return (list.resources ?? [])
    .filter((resource) => !resource.name.includes("/"))
    .map(({ name, kind, namespaced, verbs }) => ({
      ref: { ...gv, resource: name },
      kind,
      namespaced,
      verbs,
    }));
}
