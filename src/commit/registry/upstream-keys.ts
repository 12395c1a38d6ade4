/**
 * The keys under which kube-apiserver stores objects: its messages name the key, and a stock etcd is read by it.
 *
 * The folder is the resource's name, whatever its group, except for the resources listed below and for groups that are
 * not built in: `<group>/<resource>`.
 * After  k/k pkg/kubeapiserver/default_storage_factory_builder.go, SpecialDefaultResourcePrefixes.
 */
import type { ResourceInfo } from "#api/schema/resource-info.ts";

export const specialFolders: readonly (readonly [
  group: string,
  resource: string,
  folder: string,
])[] = [
  ["", "replicationcontrollers", "controllers"],
  ["", "endpoints", "services/endpoints"],
  ["", "services", "services/specs"],
  ["", "nodes", "minions"],
  ["networking.k8s.io", "ingresses", "ingress"],
  // Not served kinds: the node ports and the servers' addresses.
  ["", "masterleases", "masterleases"],
  ["", "rangeallocations", "ranges"],
  // Their servers store them by group, like custom resources.
  [
    "apiextensions.k8s.io",
    "customresourcedefinitions",
    "apiextensions.k8s.io/customresourcedefinitions",
  ],
  ["apiregistration.k8s.io", "apiservices", "apiregistration.k8s.io/apiservices"],
];

/** Such as `/registry/services/specs/ns/name`. @param key within the resource. */
export function upstreamKey(
  { group, resource, isCustom }: Pick<ResourceInfo, "group" | "resource" | "isCustom">,
  key: string,
): string {
  const special = specialFolders.find((row) => row[0] === group && row[1] === resource);
  const folder = special?.[2] ?? (isCustom === true ? `${group}/${resource}` : resource);
  return `/registry/${folder}/${key}`;
}
