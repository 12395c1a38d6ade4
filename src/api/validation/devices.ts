/** What never changes of resource slices and claims: to which node, driver and request devices belong. */
import type { FieldError } from "../status.ts";
import type { Fields } from "./fields.ts";
import { part } from "./fields.ts";
import { checkImmutable } from "./immutable.ts";

/** A node writes its own slices: with another nodeName they would be another node's. */
export function validateResourceSliceUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  const spec = part(next, "spec");
  const before = part(old, "spec");
  const pool = { field: "name", path: "spec.pool" };
  checkImmutable(out, part(spec, "pool"), part(before, "pool"), pool);
  checkImmutable(out, spec, before, { field: "driver", path: "spec" });
  checkImmutable(out, spec, before, { field: "nodeName", path: "spec" });
  return out;
}

export function validateResourceClaimUpdate(next: Fields, old: Fields): FieldError[] {
  const out: FieldError[] = [];
  checkImmutable(out, next, old, { field: "spec", path: "" });
  return out;
}
