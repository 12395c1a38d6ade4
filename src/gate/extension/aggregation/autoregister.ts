/**
 * Determines the APIServices of the kinds that this server serves itself: one per group-version, maintained as in
 * upstream.
 *
 * In     the wanted ones: built-in group-versions (`onstart`), those of custom kinds (`true`).
 * Holds  an object without the label, or one that got the label `onstart` after the start, is not changed. The
 *        APIService of a built-in group is corrected once per start. That of a custom group is corrected whenever it
 *        differs, and deleted with the group-version's last kind.
 * After  kube-aggregator autoregister_controller.go; crdregistration_controller.go.
 */
import { jsonEqual } from "#api/json/json-value.ts";
import type { AnyObject } from "#api/object.ts";
import {
  aggregatorGroup,
  customGroupPriority,
  groupPriority,
  versionPriority,
} from "#api/schema/group-priorities.ts";
import type { ResourceInfo } from "#api/schema/resource-info.ts";

const managedLabel = "kube-aggregator.kubernetes.io/automanaged";

/** Returns the wanted APIServices by name. */
export function wantedApiServices(infos: readonly ResourceInfo[]): ReadonlyMap<string, AnyObject> {
  const wanted = new Map<string, AnyObject>();
  for (const { group, version } of infos.filter((info) => info.group !== aggregatorGroup)) {
    const name = `${version}.${group}`;
    if (!wanted.has(name)) wanted.set(name, wantedApiService(name, group, version));
  }
  return wanted;
}

function wantedApiService(name: string, group: string, version: string): AnyObject {
  const builtin = groupPriority(group);
  return {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name, labels: { [managedLabel]: builtin === undefined ? "true" : "onstart" } },
    spec: {
      ...(group === "" ? {} : { group }),
      version,
      groupPriorityMinimum: builtin ?? customGroupPriority,
      versionPriority: versionPriority(group, version),
    },
  } as AnyObject;
}

interface Known {
  /** Whether the APIService of this name has been brought up to date since the start. */
  readonly hasSynced: boolean;
  readonly wasThereAtStart: boolean;
}

type Action = "nothing" | "create" | "update" | "delete";

/** Decides as upstream's table, whose rows are the existing object and whose columns are the wanted object. */
export function actionFor(
  wanted: AnyObject | undefined,
  current: AnyObject | undefined,
  { hasSynced, wasThereAtStart }: Known,
): Action {
  if (current === undefined && wanted === undefined) return "nothing";
  if (labelOf(wanted) === "onstart" && hasSynced) return "nothing";
  if (current === undefined) return "create";
  const label = labelOf(current);
  if (label !== "onstart" && label !== "true") return "nothing";
  if (label === "onstart" && (!wasThereAtStart || hasSynced)) return "nothing";
  if (wanted === undefined) return "delete";
  return jsonEqual(current["spec"], wanted["spec"]) ? "nothing" : "update";
}

function labelOf(object: AnyObject | undefined): string | undefined {
  return object?.metadata?.labels?.[managedLabel];
}
