/** Conflicts of server-side apply: fields others own and this apply would change. Texts as upstream. */
import type { ApiError } from "../status.ts";
import { failure } from "../status.ts";
import type { FieldSet } from "./field-set.ts";
import { countPaths, pathsOf } from "./field-set.ts";
import { printPath } from "./fields-v1.ts";
import type { ManagerSet } from "./managers.ts";

/** What one other manager owns of what would change. */
export interface Conflict {
  readonly owner: ManagerSet;
  readonly fields: FieldSet;
}

/** 409 with one cause for every field. */
export function conflictError(conflicts: readonly Conflict[]): ApiError {
  const owners = conflicts
    .map(({ owner, fields }) => ({
      name: printOwner(owner),
      paths: pathsOf(fields, pathsTold).map(printPath),
      count: countPaths(fields),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const causes = owners.flatMap(({ name, paths }) =>
    paths.map((field) => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${name}`,
      field,
    })),
  );
  return failure(409, "Conflict", conflictMessage(owners), { causes });
}

/** Fields listed per owner. Upstream lists all; beyond this the message says how many it left out. */
const pathsTold = 1000;

interface OwnerPaths {
  readonly name: string;
  readonly paths: readonly string[];
  /** Of all that conflict, told or not. */
  readonly count: number;
}

function conflictMessage(owners: readonly OwnerPaths[]): string {
  const count = owners.reduce((sum, owner) => sum + owner.count, 0);
  const [first] = owners;
  if (count === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${first.name}: ${first.paths[0] ?? ""}`;
  }
  const lines = owners.flatMap(({ name, paths, count: all }) => [
    `conflicts with ${name}:`,
    ...paths.map((path) => `- ${path}`),
    ...(all > paths.length ? [`- and ${all - paths.length} more`] : []),
  ]);
  return `Apply failed with ${count} conflicts: ${lines.join("\n")}`;
}

/** Appliers by name, updaters also by the version they wrote in. */
function printOwner({ manager, operation, subresource, apiVersion }: ManagerSet): string {
  const quoted = JSON.stringify(manager);
  const name = subresource === "" ? quoted : `${quoted} with subresource "${subresource}"`;
  return operation === "Apply" ? name : `${name} using ${apiVersion}`;
}
