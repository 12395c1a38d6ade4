/**
 * Makes a checkout ready: installs dependencies when they are missing or stale, then generates the
 * schema. Runs before `up`, `test` and `check`, on any Node >= 20, so it is plain JavaScript.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { pinnedNode } from "./node-path.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

install();
generate();

function install() {
  if (installed()) return;
  console.log("pilothouse: installing dependencies (once; about 10 s) ...");
  // Not `npm ci`: it refuses a lock file made where optional packages of other platforms were not to be had.
  const args = ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
  run(process.platform === "win32" ? "npm.cmd" : "npm", args, "install dependencies");
}

/** npm leaves a copy of what it installed; same versions of the same packages means nothing to do. */
function installed() {
  const done = join(root, "node_modules", ".package-lock.json");
  if (!existsSync(done)) return false;
  const want = packagesOf(join(root, "package-lock.json"));
  const have = packagesOf(done);
  return Object.entries(want).every(
    ([path, entry]) => path === "" || entry.optional || have[path]?.version === entry.version,
  );
}

function packagesOf(lockFile) {
  return JSON.parse(readFileSync(lockFile, "utf8")).packages;
}

function generate() {
  run(pinnedNode(root), [join(root, "tools", "generate", "main.ts")], "generate the schema");
}

function run(command, args, what) {
  const result = spawnSync(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  if (result.status === 0) return;
  const why = result.error ? result.error.message : `exit ${result.status}`;
  console.error(`pilothouse: could not ${what} (${why}); run: ${command} ${args.join(" ")}`);
  process.exit(1);
}
