/** One cgroup per node, under which its kubelet keeps all pods; of version 1 in every hierarchy. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

const root = "/sys/fs/cgroup";

export const isVersion2 = existsSync(join(root, "cgroup.controllers"));

function hierarchies(): readonly string[] {
  if (isVersion2) return [root];
  const names = readdirSync(root).filter((name) => name !== "unified");
  return names.map((name) => join(root, name));
}

export function cgroupOf(node: string): string {
  return `pilothouse-${node}`;
}

export function openCgroup(node: string): void {
  for (const hierarchy of hierarchies()) {
    const path = join(hierarchy, cgroupOf(node));
    mkdirSync(path, { recursive: true });
    for (const file of ["cpuset.cpus", "cpuset.mems"]) {
      // In version 1 an empty cpuset takes no process.
      const source = join(hierarchy, file);
      if (!isVersion2 && existsSync(source)) {
        writeFileSync(join(path, file), readFileSync(source, "utf8").trim());
      }
    }
  }
}

/** @returns paths that could not be removed: processes in them have not ended yet. */
export function closeCgroup(node: string): readonly string[] {
  // In a mixed machine runc makes one in the hierarchy of version 2, too.
  const all = [...hierarchies(), join(root, "unified")];
  const paths = all.map((hierarchy) => join(hierarchy, cgroupOf(node)));
  return paths.filter((path) => existsSync(path)).filter((path) => !removeTree(path));
}

function removeTree(path: string): boolean {
  const folders = readdirSync(path, { withFileTypes: true }).filter((one) => one.isDirectory());
  const empty = folders.map(({ name }) => removeTree(join(path, name))).every(Boolean);
  if (!empty) return false;
  try {
    rmdirSync(path);
    return true;
  } catch {
    return false;
  }
}
