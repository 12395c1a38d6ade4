/** The file of `--node-groups`, which defines the groups of hollow nodes. */
import type { NodeGroupsFile } from "#hollow/node-group-spec.ts";
import { parseNodeGroups } from "./node-group-document.ts";
import { readOperatorFile } from "./operator-file.ts";
import { UsageError } from "./usage-error.ts";

/** Throws UsageError. */
export function nodeGroupsOf(path: string): NodeGroupsFile {
  const { file, problems } = parseNodeGroups(readOperatorFile(path));
  if (file !== undefined && problems.length === 0) return file;
  throw new UsageError(`${path}: ${problems.join("\n")}`);
}
