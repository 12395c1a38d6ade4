/** Query options of create, update and patch: dryRun, fieldManager, fieldValidation, force. */
import type { AnyObject } from "#api/object.ts";
import { type FieldError, invalid } from "#api/status.ts";
import { isTrue } from "#server/request-info.ts";

export type FieldValidation = "Ignore" | "Warn" | "Strict";

export interface WriteQuery {
  readonly dryRun: boolean;
  /** Name of the field manager; "" when the client named none. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** Value of fieldValidation in the query; "" when absent. */
  readonly given: string;
  /** Value of force, for server-side apply only; undefined when absent. */
  readonly force: boolean | undefined;
}

type OptionsKind = "CreateOptions" | "UpdateOptions" | "PatchOptions";

const managerBytesMax = 128;
const validations: readonly string[] = ["", "Ignore", "Strict", "Warn"];

/** Parses the query. `patchType`: only for PatchOptions. @throws ApiError 422 named after `kind`. */
export function writeQuery(
  kind: OptionsKind,
  query: URLSearchParams,
  patchType?: "apply" | "other",
): WriteQuery {
  const force = query.get("force");
  const manager = query.get("fieldManager") ?? "";
  const errors = [
    ...managerFaults(manager, patchType === "apply"),
    ...dryRunFaults(query.getAll("dryRun")),
    ...validationFaults(query.get("fieldValidation") ?? ""),
    ...(patchType === "other" && force !== null ? [forceFault] : []),
  ];
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind }, "", errors);
  const validation = query.get("fieldValidation") ?? "";
  return {
    dryRun: isDryRun(query),
    fieldManager: manager,
    fieldValidation: validation === "" ? "Warn" : (validation as FieldValidation), // checked above
    given: validation,
    force: force === null ? undefined : isTrue(force),
  };
}

/** Options of a write as the object that admission gets. A patch has UpdateOptions. */
export function writeOptions(
  kind: "CreateOptions" | "UpdateOptions",
  query: WriteQuery,
): AnyObject {
  const { dryRun, fieldManager, given } = query;
  return {
    kind,
    apiVersion: "meta.k8s.io/v1",
    ...(dryRun ? { dryRun: ["All"] } : {}),
    ...(fieldManager === "" ? {} : { fieldManager }),
    ...(given === "" ? {} : { fieldValidation: given }),
  };
}

function isDryRun(query: URLSearchParams): boolean {
  return query.getAll("dryRun").includes("All");
}

const forceFault: FieldError = {
  reason: "FieldValueForbidden",
  field: "force",
  message: "Forbidden: may not be specified for non-apply patch",
};

export function dryRunFaults(values: readonly string[]): readonly FieldError[] {
  const bad = values.filter((value) => value !== "All");
  if (bad.length === 0) return [];
  const list = `[${values.map((value) => JSON.stringify(value)).join(",")}]`;
  const message = `Unsupported value: ${list}: supported values: "All"`;
  return [{ reason: "FieldValueNotSupported", field: "dryRun", message }];
}

function validationFaults(value: string): readonly FieldError[] {
  if (validations.includes(value)) return [];
  const list = validations.map((item) => JSON.stringify(item)).join(", ");
  const message = `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`;
  return [{ reason: "FieldValueNotSupported", field: "fieldValidation", message }];
}

function managerFaults(manager: string, required: boolean): readonly FieldError[] {
  const field = "fieldManager";
  if (manager === "") {
    const message = "Required value: is required for apply patch";
    return required ? [{ reason: "FieldValueRequired", field, message }] : [];
  }
  if (Buffer.byteLength(manager) > managerBytesMax) {
    const message = `Too long: may not be more than ${managerBytesMax} bytes`;
    return [{ reason: "FieldValueTooLong", field, message }];
  }
  if (!/[\p{C}\p{Zl}\p{Zp}]/u.test(manager)) return [];
  const message = `Invalid value: ${JSON.stringify(manager)}: should only contain printable characters`;
  return [{ reason: "FieldValueInvalid", field, message }];
}
