/** Conflicts of server-side apply: fields others own and this apply would change. Texts as upstream. */
import type { ApiError } from "../status.ts";
import { failure } from "../status.ts";
import type { FieldSet } from "./field-set.ts";
import { countPaths, pathsOf } from "./field-set.ts";
import { printPath } from "./fields-v1.ts";
import type { ManagerSet } from "./managers.ts";

/** The changed fields that one other manager owns. */
export interface Conflict {
  readonly owner: ManagerSet;
  readonly fields: FieldSet;
}

/**
 * Makes the 409 error with one cause per field, at most `fieldsTold`.
 * Cost  linear in the paths that conflict; the size of the error is bounded.
 */
export function conflictError(conflicts: readonly Conflict[]): ApiError {
  const owners = ownersTold(conflicts);
  const causes = owners.flatMap(({ name, paths }) =>
    paths.map((field) => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${name}`,
      field,
    })),
  );
  return failure(409, "Conflict", conflictMessage(owners), { causes });
}

/**
 * Maximum number of fields listed, for all owners together. Upstream lists all; here the message says how many further
 * ones there are. Hundreds of owners of hundreds of fields each would make 60,000 causes, an answer of 6 MB.
 */
const fieldsTold = 2_000;

interface OwnerPaths {
  readonly name: string;
  readonly paths: readonly string[];
  /** Number of all conflicts, including those not listed. */
  readonly count: number;
}

/** Lists the paths of the first owners, ordered by name. */
function ownersTold(conflicts: readonly Conflict[]): readonly OwnerPaths[] {
  const sorted = conflicts
    .map(({ owner, fields }) => ({ name: printOwner(owner), fields }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  let left = fieldsTold;
  return sorted.map(({ name, fields }) => {
    const paths = pathsOf(fields, left).map(printPath);
    left -= paths.length;
    return { name, paths, count: countPaths(fields) };
  });
}

function conflictMessage(owners: readonly OwnerPaths[]): string {
  const count = owners.reduce((sum, owner) => sum + owner.count, 0);
  const [first] = owners;
  if (count === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${first.name}: ${first.paths[0] ?? ""}`;
  }
  const told = owners.filter(({ paths }) => paths.length > 0);
  const lines = told.flatMap(({ name, paths, count: all }) => [
    `conflicts with ${name}:`,
    ...paths.map((path) => `- ${path}`),
    ...(all > paths.length ? [`- and ${all - paths.length} more`] : []),
  ]);
  const untold = owners.slice(told.length);
  const more = untold.reduce((sum, owner) => sum + owner.count, 0);
  if (more > 0) lines.push(`and ${more} more conflicts with ${untold.length} other managers`);
  return `Apply failed with ${count} conflicts: ${lines.join("\n")}`;
}

/** Appliers are shown by name, updaters also with the version they wrote in. */
function printOwner({ manager, operation, subresource, apiVersion }: ManagerSet): string {
  const quoted = JSON.stringify(manager);
  const name = subresource === "" ? quoted : `${quoted} with subresource "${subresource}"`;
  return operation === "Apply" ? name : `${name} using ${apiVersion}`;
}
