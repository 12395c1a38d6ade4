/** Reads DeleteOptions: from the body when there is one, else from the query. The two are never merged. */
import { exactInteger } from "#base/exact-json.ts";
import { parseInt64, parseInt64Error } from "#api/go/go-integer.ts";
import type { AnyObject } from "#api/object.ts";
import { badRequest, type FieldError, invalid } from "#api/status.ts";
import type { DeleteOptions } from "#registry/resource-store.ts";
import { noSuchKind } from "./stated-kind.ts";
import { isTrue } from "#server/request-info.ts";
import { dryRunFaults } from "./write-options.ts";

export interface DeleteQuery {
  readonly options: DeleteOptions;
  readonly dryRun: boolean;
}

const policies: readonly string[] = ["Foreground", "Background", "Orphan"];

/** @throws ApiError 400, 422. */
export function deleteQuery(body: AnyObject | undefined, query: URLSearchParams): DeleteQuery {
  const given = body === undefined ? fromQuery(query) : fromBody(body);
  const errors = faults(given);
  if (errors.length > 0) {
    throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", errors);
  }
  const { dryRun, ...options } = given;
  return { options: options as DeleteOptions, dryRun: dryRun.includes("All") }; // policy checked above
}

interface Given {
  readonly gracePeriodSeconds?: number | bigint;
  readonly propagationPolicy?: string;
  readonly orphanDependents?: boolean;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun: readonly string[];
}

function fromQuery(query: URLSearchParams): Given {
  const grace = query.get("gracePeriodSeconds");
  const policy = query.get("propagationPolicy");
  const orphan = query.get("orphanDependents");
  const seconds = grace === null ? 0n : parseInt64(grace);
  if (seconds === undefined) throw badRequest(parseInt64Error(grace ?? ""));
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: graceOf(exactInteger(seconds)) }),
    ...(policy === null ? {} : { propagationPolicy: policy }),
    ...(orphan === null ? {} : { orphanDependents: isTrue(orphan) }),
    dryRun: query.getAll("dryRun"),
  };
}

/** Types of the fields that would otherwise be ignored silently. */
const bodyTypes: readonly (readonly [field: string, type: string, goType: string])[] = [
  ["gracePeriodSeconds", "number", "int64"],
  ["orphanDependents", "boolean", "bool"],
  ["propagationPolicy", "string", "v1.DeletionPropagation"],
];

function checkBody(body: AnyObject): void {
  const { kind = "", apiVersion = "" } = body;
  if (kind !== "" && kind !== "DeleteOptions") throw badRequest(noSuchKind(kind, apiVersion));
  for (const [field, type, goType] of bodyTypes) {
    const value = body[field];
    if (value === undefined || value === null || typeof value === type) continue;
    if (typeof value === "bigint" && type === "number") continue;
    const given = typeof value === "boolean" ? "bool" : typeof value;
    const where = `Go struct field DeleteOptions.${field} of type ${goType}`;
    throw badRequest(`json: cannot unmarshal ${given} into ${where}`);
  }
}

function fromBody(body: AnyObject): Given {
  checkBody(body);
  const grace = body["gracePeriodSeconds"];
  const policy = body["propagationPolicy"];
  const orphan = body["orphanDependents"];
  const dryRun = body["dryRun"];
  return {
    ...(typeof grace === "number" ? { gracePeriodSeconds: graceOf(grace) } : {}),
    ...(typeof grace === "bigint" ? { gracePeriodSeconds: graceOf(grace) } : {}),
    ...(typeof policy === "string" ? { propagationPolicy: policy } : {}),
    ...(typeof orphan === "boolean" ? { orphanDependents: orphan } : {}),
    ...preconditions(body["preconditions"]),
    dryRun: Array.isArray(dryRun) ? dryRun.map(String) : [],
  };
}

function preconditions(value: unknown): Pick<Given, "preconditions"> {
  if (typeof value !== "object" || value === null) return {};
  const { uid, resourceVersion } = value as Record<string, unknown>;
  const found = {
    ...(typeof uid === "string" ? { uid } : {}),
    ...(typeof resourceVersion === "string" ? { resourceVersion } : {}),
  };
  return { preconditions: found };
}

/** A negative grace period means one second, as upstream. */
function graceOf(seconds: number | bigint): number | bigint {
  if (seconds < 0) return 1;
  return typeof seconds === "bigint" ? seconds : Math.floor(seconds);
}

function faults(given: Given): readonly FieldError[] {
  const { propagationPolicy: policy, orphanDependents } = given;
  const field = "propagationPolicy";
  const errors: FieldError[] = [];
  if (policy !== undefined && orphanDependents !== undefined) {
    const why = "orphanDependents and deletionPropagation cannot be both set";
    errors.push({
      reason: "FieldValueInvalid",
      field,
      message: `Invalid value: ${JSON.stringify(policy)}: ${why}`,
    });
  }
  if (policy !== undefined && !policies.includes(policy)) {
    const list = [...policies, "nil"].map((item) => JSON.stringify(item)).join(", ");
    const message = `Unsupported value: ${JSON.stringify(policy)}: supported values: ${list}`;
    errors.push({ reason: "FieldValueNotSupported", field, message });
  }
  return [...errors, ...dryRunFaults(given.dryRun)];
}
