/**
 * Patches for the fake API: JSON patch, merge patch, and a strategic merge that knows the merge keys
 * of the lists that the controllers patch. The product's patches are in `api`; this one only has to be
 * right for tests that patch conditions, containers, finalizers and the like.
 */
import type { AnyObject } from "#api/object.ts";
import { badRequest, failure } from "#api/status.ts";
import type { PatchType } from "../client.ts";

type Fields = Record<string, unknown>;

const mergeKeys: Readonly<Record<string, string>> = {
  conditions: "type",
  addresses: "type",
  containers: "name",
  initContainers: "name",
  volumes: "name",
  env: "name",
  ownerReferences: "uid",
  podIPs: "ip",
  hostIPs: "ip",
};
const setLists: ReadonlySet<string> = new Set(["finalizers"]);

export function applyFakePatch(object: AnyObject, type: PatchType, patch: unknown): AnyObject {
  if (type === "json") return jsonPatch(object, patch);
  const merged =
    type === "merge" ? mergePatch(object, patch) : strategic(fields(object), fields(patch));
  return merged as AnyObject; // An object patched by an object is an object.
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : {};
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const result: Fields = { ...fields(target) };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatch(result[name], value);
  }
  return result;
}

function strategic(target: Fields, patch: Fields): Fields {
  if (patch["$patch"] === "replace") {
    const { $patch: _, ...rest } = patch;
    return rest;
  }
  const result: Fields = { ...target };
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith("$deleteFromPrimitiveList/")) {
      const list = name.slice("$deleteFromPrimitiveList/".length);
      const gone: readonly unknown[] = Array.isArray(value) ? value : [];
      const old: unknown = result[list];
      if (Array.isArray(old)) result[list] = old.filter((item) => !gone.includes(item));
    } else if (name.startsWith("$")) continue;
    else if (value === null) delete result[name];
    else if (Array.isArray(value)) result[name] = strategicList(name, result[name], value);
    else if (isFields(value)) result[name] = strategic(fields(result[name]), value);
    else result[name] = value;
  }
  return result;
}

function strategicList(name: string, target: unknown, patch: readonly unknown[]): unknown[] {
  const old: readonly unknown[] = Array.isArray(target) ? target : [];
  if (setLists.has(name)) return [...new Set([...old, ...patch])];
  const key = mergeKeys[name];
  if (key === undefined) return [...patch];
  const result = old.map(fields);
  for (const item of patch.map(fields)) {
    const at = result.findIndex((known) => known[key] === item[key]);
    if (item["$patch"] === "delete") {
      if (at >= 0) result.splice(at, 1);
    } else if (at < 0) result.push(item);
    else result[at] = strategic(result[at] ?? {}, item);
  }
  return result;
}

function jsonPatch(object: AnyObject, patch: unknown): AnyObject {
  if (!Array.isArray(patch)) throw badRequest("a JSON patch is a list of operations");
  const root = { object: structuredClone(object) as unknown };
  for (const operation of patch.map(fields)) jsonOperation(root, operation);
  return root.object as AnyObject; // Operations below the root keep it an object.
}

function jsonOperation(root: { object: unknown }, operation: Fields): void {
  const path = String(operation["path"]);
  const steps = path
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = steps.pop();
  if (last === undefined) throw badRequest("a JSON patch here changes fields only");
  let parent: unknown = root.object;
  for (const step of steps) parent = (parent as Fields | undefined)?.[step];
  if (typeof parent !== "object" || parent === null) {
    throw failure(422, "Invalid", `the path ${path} does not exist`);
  }
  const old = (parent as Fields)[last];
  const op = operation["op"];
  if (op === "test") {
    const same = JSON.stringify(old) === JSON.stringify(operation["value"]);
    if (!same) throw failure(422, "Invalid", `the test of ${path} failed`);
  } else if (Array.isArray(parent)) listOperation(parent, op, last, operation["value"]);
  else if (op === "remove") delete (parent as Fields)[last];
  else (parent as Fields)[last] = operation["value"];
}

function listOperation(list: unknown[], op: unknown, step: string, value: unknown): void {
  const at = step === "-" ? list.length : Number(step);
  if (op === "remove") list.splice(at, 1);
  else if (op === "add") list.splice(at, 0, value);
  else list[at] = value;
}
