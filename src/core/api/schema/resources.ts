/**
 * The built-in resources: the expanded rows of `resource-rows.ts`, and look-ups by path and by kind.
 *
 * CRDs are not included; the server that serves them adds their rows to these.
 */
import { must } from "#base/assert.ts";
import type { GroupVersionKind } from "../object.ts";
import type { ResourceInfo, SubresourceInfo, Verb } from "./resource-info.ts";
import { groupVersionRows, type ResourceRow, type SubresourceRow } from "./resource-rows.ts";
import { parseApiVersion } from "../object.ts";

const verbsAll: readonly Verb[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];
const verbsRow: Readonly<Record<NonNullable<ResourceRow["verbs"]>, readonly Verb[]>> = {
  create: ["create"],
  read: ["get", "list"],
  "no-collection-delete": verbsAll.filter((verb) => verb !== "deletecollection"),
};
const verbsSubresource: Readonly<Record<SubresourceRow["verbs"], readonly Verb[]>> = {
  update: ["update"],
  create: ["create"],
  get: ["get"],
  connect: ["create", "get"],
  proxy: ["create", "delete", "get", "patch", "update"],
  "read-write": ["get", "patch", "update"],
};

/** Groups whose stores upstream configures with ReturnDeletedObject. */
const deletedObjectGroups: ReadonlySet<string> = new Set(["resource.k8s.io"]);
const deletedObjects: ReadonlySet<string> = new Set([
  "/persistentvolumeclaims",
  "/persistentvolumes",
  "/pods",
  "/podtemplates",
  "/resourcequotas",
  "/serviceaccounts",
  "/services",
  "storage.k8s.io/csidrivers",
  "storage.k8s.io/csinodes",
  "storage.k8s.io/storageclasses",
  "storage.k8s.io/volumeattachments",
  "storage.k8s.io/volumeattributesclasses",
]);

const rows: readonly ResourceInfo[] = groupVersionRows.flatMap((gv) =>
  gv.rows.map((row) => unfold(gv.group, gv.version, row)),
);
const byPath = new Map(rows.map((row) => [pathKey(row.group, row.version, row.resource), row]));
const byKind = new Map(rows.map((row) => [pathKey(row.group, row.version, row.kind), row]));

/** All 95, in discovery order within each group-version. */
export function builtinResources(): readonly ResourceInfo[] {
  return rows;
}

/** `resource` is the plural name. */
export function resourceByPath(
  group: string,
  version: string,
  resource: string,
): ResourceInfo | undefined {
  return byPath.get(pathKey(group, version, resource));
}

/** Only kinds of resources: no Scale, Eviction, TokenRequest. */
export function resourceByKind(gvk: GroupVersionKind): ResourceInfo | undefined {
  return byKind.get(pathKey(gvk.group, gvk.version, gvk.kind));
}

/** Whether a DELETE that takes effect at once is answered with the object; most kinds answer with a Status. */
export function returnsDeletedObject(info: {
  readonly group: string;
  readonly resource: string;
}): boolean {
  return (
    deletedObjectGroups.has(info.group) || deletedObjects.has(`${info.group}/${info.resource}`)
  );
}

function pathKey(group: string, version: string, name: string): string {
  return `${group}/${version}/${name}`;
}

function unfold(group: string, version: string, row: ResourceRow): ResourceInfo {
  const isNonPersisted = row.verbs === "create" || row.verbs === "read";
  return {
    group,
    version,
    resource: row.resource,
    singular: row.kind.toLowerCase(),
    kind: row.kind,
    namespaced: row.cluster !== true,
    verbs: row.verbs === undefined ? verbsAll : verbsRow[row.verbs],
    shortNames: row.short ?? [],
    categories: row.categories ?? [],
    subresources: unfoldSubresources(row),
    ...(isNonPersisted ? {} : { storage: unfoldStorage(group, version, row) }),
  };
}

/** Events of both groups are stored as those of the core group. */
function unfoldStorage(
  group: string,
  version: string,
  row: ResourceRow,
): NonNullable<ResourceInfo["storage"]> {
  if (group === "events.k8s.io") return { group: "", version: "v1", resource: "events" };
  return { group, version: row.storedAs ?? version, resource: row.resource };
}

function unfoldSubresources(row: ResourceRow): readonly SubresourceInfo[] {
  const status: readonly SubresourceRow[] =
    row.status === true ? [{ name: "status", verbs: "read-write" }] : [];
  const listed = [...(row.subresources ?? []), ...status];
  const unfolded = listed.map((sub) => ({
    name: sub.name,
    kind: sub.kind ?? row.kind,
    ...(sub.of === undefined ? {} : must(parseApiVersion(sub.of), `bad group-version ${sub.of}`)),
    verbs: verbsSubresource[sub.verbs],
  }));
  return unfolded.sort((a, b) => (a.name < b.name ? -1 : 1));
}
