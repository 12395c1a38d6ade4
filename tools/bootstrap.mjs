/**
 * Makes a checkout ready: installs dependencies when they are missing or stale, then generates the
 * schema. Runs before `up`, `test` and `check`, on any Node >= 20, so it is plain JavaScript.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { withNpmCache } from "./npm-cache.mjs";
import { pinnedNode } from "./node-path.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

install();
generate();

function install() {
  if (installed()) return;
  console.log("pilothouse: installing dependencies (once; about 10 s) ...");
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const status = withNpmCache(process.env, (env) => statusOf(npm, args, env));
  endUnless(status, npm, args, "install dependencies");
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
  const args = [join(root, "tools", "generate", "main.ts")];
  const node = pinnedNode(root);
  endUnless(statusOf(node, args, process.env), node, args, "generate the schema");
}

/** 0, or why not. */
function statusOf(command, args, env) {
  const stdio = ["ignore", "inherit", "inherit"];
  const { status, error } = spawnSync(command, args, { cwd: root, env, stdio });
  return status === 0 ? 0 : (error?.message ?? `exit ${status}`);
}

function endUnless(status, command, args, what) {
  if (status === 0) return;
  console.error(`pilothouse: could not ${what} (${status}); run: ${command} ${args.join(" ")}`);
  process.exit(1);
}
