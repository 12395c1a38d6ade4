/**
 * Finds the unknown and repeated fields of a patch itself, as in upstream's strict decoding. They are reported before
 * those of the patched object.
 */
import { jsonKind } from "#api/json/json-value.ts";
import { fieldFindings } from "#api/schema/decode.ts";
import { badRequest } from "#api/status.ts";
import { isRecord } from "#base/is-record.ts";
import type { JsonScan } from "#wire/json-scan.ts";
import { orderedScan } from "#wire/yaml.ts";
import type { Document } from "./body-text.ts";

type PatchForm = "json" | "merge" | "strategic";
type Path = readonly (string | number)[];

interface PatchFindings {
  /** Findings about the patch itself, reported first. */
  readonly own: readonly string[];
  /** Repeated keys that came into the object with a value of the patch. */
  readonly duplicates: JsonScan;
}

export function patchFindings(form: PatchForm, patch: Document): PatchFindings {
  if (form !== "json") {
    return { own: fieldFindings([], patch.duplicates), duplicates: orderedScan([]) };
  }
  const operations = Array.isArray(patch.value) ? (patch.value as readonly unknown[]) : [];
  const unknown = operations.flatMap(unknownFields);
  const own = fieldFindings(unknown, patch.duplicates).map((finding) => `json patch ${finding}`);
  return { own, duplicates: orderedScan(duplicatesWithin(operations, patch.duplicates)) };
}

const texts = ["op", "path", "from"] as const;
const fields: ReadonlySet<string> = new Set([...texts, "value"]);

function unknownFields(operation: unknown, at: number): readonly Path[] {
  if (!isRecord(operation)) return [];
  return Object.keys(operation)
    .filter((key) => !fields.has(key))
    .map((key) => [at, key]);
}

/** Paths of repeated keys in the object: the operation's path, then the path in its value. */
function duplicatesWithin(operations: readonly unknown[], scan: JsonScan | undefined): Path[] {
  return (scan?.duplicates ?? []).flatMap(({ path: [at, field, ...rest] }) => {
    const operation = operations[Number(at)];
    if (field !== "value" || rest.length === 0 || !isRecord(operation)) return [];
    const { path: to } = operation;
    return typeof to === "string" ? [[...pathOf(to), ...rest]] : [];
  });
}

function pathOf(pointer: string): Path {
  const parts = pointer.split("/").slice(1);
  return parts.map((part) => {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    return /^[0-9]+$/.test(name) ? Number(name) : name;
  });
}

/** @throws ApiError 400 for a patch that is not an object; the merge refuses null. */
export function checkMergePatch(patch: unknown): void {
  if (patch === null || isRecord(patch)) return;
  const what = `json: cannot unmarshal ${jsonKind(patch)} into Go value of type map[string]interface {}`;
  throw badRequest(`error decoding patch: ${what}`);
}

/**
 * Checks the form of a JSON patch as strict decoding requires; with `Ignore` the checks are fewer and later.
 * @throws ApiError 400.
 */
export function checkOperations(patch: unknown): void {
  if (patch === null) return;
  const refuse = (value: unknown, into: string): never => {
    const what = `json: cannot unmarshal ${jsonKind(value)} into Go ${into}`;
    throw badRequest(`error decoding patch: ${what}`);
  };
  if (!Array.isArray(patch)) return refuse(patch, "value of type []handlers.jsonPatchOp");
  for (const operation of patch as readonly unknown[]) {
    if (operation === null) continue;
    if (!isRecord(operation)) return refuse(operation, "value of type handlers.jsonPatchOp");
    for (const name of Object.keys(operation)) {
      const isText = texts.some((text) => text === name);
      const value = operation[name] ?? "";
      if (isText && typeof value !== "string") {
        refuse(value, `struct field jsonPatchOp.${name} of type string`);
      }
    }
  }
}
