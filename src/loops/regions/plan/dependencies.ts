/** Finds the ConfigMaps, Secrets and ServiceAccounts that the pod template of an object names. */
import type { AnyObject } from "#api/object.ts";
import { podReferences } from "#api/pods/pod-references.ts";
import { isRecord } from "#base/is-record.ts";
import type { ResourceRef } from "#client/client.ts";
import { refs } from "../names.ts";
import type { Dependency } from "../placement.ts";

interface NamedObject {
  readonly ref: ResourceRef;
  readonly kind: Dependency;
  readonly name: string;
}

/** Objects that every namespace of a region has by itself, so they are not copied. */
const everywhere: ReadonlySet<string> = new Set([
  "ServiceAccount/default",
  "ConfigMap/kube-root-ca.crt",
]);

export function dependenciesOf(
  object: AnyObject,
  kinds: readonly Dependency[],
): readonly NamedObject[] {
  const pod = templateOf(object);
  if (pod === undefined) return [];
  const { configMaps, secrets, serviceAccounts } = podReferences(pod);
  const named = [
    ...configMaps.map((name) => ({ ref: refs.configMaps, kind: "ConfigMap" as const, name })),
    ...secrets.map((name) => ({ ref: refs.secrets, kind: "Secret" as const, name })),
    ...serviceAccounts.map((name) => ({
      ref: refs.serviceAccounts,
      kind: "ServiceAccount" as const,
      name,
    })),
  ];
  return named.filter(
    ({ kind, name }) => kinds.includes(kind) && !everywhere.has(`${kind}/${name}`),
  );
}

/** Returns the pod template of an object, or a Pod itself. Undefined: the object creates no pods. */
export function templateOf(object: AnyObject): AnyObject | undefined {
  if (object.kind === "Pod") return object;
  const spec = object["spec"];
  if (!isRecord(spec)) return undefined;
  if (isRecord(spec["template"])) return spec["template"];
  const job = isRecord(spec["jobTemplate"]) ? spec["jobTemplate"]["spec"] : undefined;
  return isRecord(job) && isRecord(job["template"]) ? job["template"] : undefined;
}
