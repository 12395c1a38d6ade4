/** An APIService as the aggregator sees it: the server it leads to, and the condition that says whether that server answers. */
import type { AnyObject } from "#api/object.ts";
import { groupPriority } from "#api/schema/group-priorities.ts";
import { formatTime } from "#api/values/time.ts";

export const apiServices = { group: "apiregistration.k8s.io", resource: "apiservices" } as const;

export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** A group-version that another server serves. */
export interface RemoteSpec {
  /** Name of the APIService, such as `v1alpha1.wardle.example.com`. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  readonly service: ServiceReference;
  /** PEM. "": the authorities that the host trusts. */
  readonly caBundle: string;
  readonly skipsVerification: boolean;
}

interface Condition {
  readonly type: "Available";
  readonly status: "True" | "False" | "Unknown";
  /** Time in RFC 3339, in whole seconds. */
  readonly lastTransitionTime: string;
  readonly reason: string;
  readonly message: string;
}

export type Verdict = Pick<Condition, "status" | "reason" | "message">;

export const localVerdict: Verdict = {
  status: "True",
  reason: "Local",
  message: "Local APIServices are always available",
};

interface StoredSpec {
  readonly group?: string;
  readonly version?: string;
  readonly groupPriorityMinimum?: number;
  readonly versionPriority?: number;
  readonly caBundle?: string;
  readonly insecureSkipTLSVerify?: boolean;
  readonly service?: {
    readonly namespace?: string;
    readonly name?: string;
    readonly port?: number;
  };
}

/**
 * Undefined: the APIService is local. A built-in group is always local: no APIService can send the requests for Secrets
 * or Pods to another server.
 */
export function remoteSpec(object: AnyObject): RemoteSpec | undefined {
  const spec = (object["spec"] ?? {}) as StoredSpec; // validated when it was written
  const { group = "", version = "", service } = spec;
  if (service === undefined || groupPriority(group) !== undefined) return undefined;
  const { namespace = "", name = "", port = 443 } = service;
  return {
    name: object.metadata?.name ?? "",
    group,
    version,
    groupPriority: spec.groupPriorityMinimum ?? 0,
    versionPriority: spec.versionPriority ?? 0,
    service: { namespace, name, port },
    caBundle: Buffer.from(spec.caBundle ?? "", "base64").toString("latin1"),
    skipsVerification: spec.insecureSkipTLSVerify === true,
  };
}

export function availableCondition(object: AnyObject): Condition | undefined {
  const { conditions = [] } = (object["status"] ?? {}) as {
    readonly conditions?: readonly Condition[];
  };
  return conditions.find(({ type }) => type === "Available");
}

/** Returns the object with the verdict as its condition. Undefined: the condition is the same already. */
export function withVerdict(
  object: AnyObject,
  verdict: Verdict,
  nowMs: number,
): AnyObject | undefined {
  const current = availableCondition(object);
  const { status, reason, message } = verdict;
  const isSame =
    current?.status === status && current.reason === reason && current.message === message;
  if (isSame) return undefined;
  const lastTransitionTime =
    current?.status === status ? current.lastTransitionTime : formatTime(nowMs);
  const next: Condition = { type: "Available", status, lastTransitionTime, reason, message };
  const stored = (object["status"] ?? {}) as { readonly conditions?: readonly Condition[] };
  const known = stored.conditions ?? [];
  const at = known.findIndex(({ type }) => type === "Available");
  const conditions = at < 0 ? [...known, next] : known.with(at, next);
  return { ...object, status: { ...stored, conditions } } as AnyObject;
}
