/** Whether a volume can be provisioned for a claim on a node, by topology and reported free space; pure. */
import type {
  Node,
  PersistentVolumeClaim,
  StorageClass,
  TopologySelectorTerm,
} from "#api/gen/types.ts";
import { parseQuantity, tryParseQuantity, value } from "#api/values/quantity.ts";
import { labelsMatch, selectorFromLabelSelector } from "#api/selectors/label-selector.ts";
import { noProvisioner } from "#api/volumes/binding.ts";
import type { VolumeLookup } from "./claims.ts";

export function canProvision(storageClass: StorageClass, node: Node): boolean {
  const { provisioner, allowedTopologies = [] } = storageClass;
  if (provisioner === "" || provisioner === noProvisioner) return false;
  if (allowedTopologies.length === 0) return true;
  return allowedTopologies.some((term) => termMatches(term, node));
}

/** A term without expressions matches no node. */
function termMatches({ matchLabelExpressions = [] }: TopologySelectorTerm, node: Node): boolean {
  const labels = node.metadata?.labels ?? {};
  const holds = ({ key, values }: { key: string; values: readonly string[] }): boolean =>
    Object.hasOwn(labels, key) && values.includes(labels[key] ?? "");
  return matchLabelExpressions.length > 0 && matchLabelExpressions.every(holds);
}

/** Whether the driver has room: false only when it reports its free space and no report for the node is enough. */
export function hasRoomFor(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  node: Node,
  lookup: VolumeLookup,
): boolean {
  const request = claim.spec?.resources?.requests?.["storage"];
  if (request === undefined) return true;
  if (lookup.csiDriver(storageClass.provisioner)?.spec.storageCapacity !== true) return true;
  const bytes = value(parseQuantity(request));
  return lookup.storageCapacities(storageClass.metadata?.name ?? "").some((one) => {
    const limit = tryParseQuantity(one.maximumVolumeSize ?? one.capacity ?? "");
    if (limit === undefined || value(limit) < bytes || one.nodeTopology === undefined) return false;
    return labelsMatch(selectorFromLabelSelector(one.nodeTopology), node.metadata?.labels ?? {});
  });
}
