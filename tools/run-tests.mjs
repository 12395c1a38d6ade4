/**
 * Runs test files on the pinned Node: a room's in one process (test-bundles.mjs), whole processes' one file at a time per core.
 *
 * What a run leaves in .cache/tests: `failed` and `skipped`, the names of files in which a test failed or was skipped, as
 * `npm test --` takes them.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { pinnedNode } from "./node-path.mjs";
import { bundleTests } from "./test-bundles.mjs";

const timeoutMs = 300_000;

/**
 * `files`: from `root`. `again`: at most two files of whole processes that failed beside others run once more, alone.
 * `atOnce`: files; 0: as many as there are cores.
 */
export function runTests(root, files, { again = false, atOnce = 0 } = {}) {
  if (files.length === 0) throw new Error("no test files found");
  const lists = emptyLists(root);
  const env = { ...environment(root), PILOTHOUSE_TEST_LISTS: lists };
  const status = runFiles(root, bundleTests(root, files), atOnce || filesAtOnce(), env);
  if (status === 0) return;
  const failed = listed(join(lists, "failed"));
  if (!again || !mayRunAgain(failed)) process.exit(status);
  console.log(`\nfailed beside others, now alone: ${failed.join(", ")}`);
  const alone = runFiles(root, failed, 1, environment(root));
  if (alone !== 0) process.exit(alone);
  console.log(`\npassed alone, and must be made to pass beside others: ${failed.join(", ")}`);
}

/** What measures time: one file at a time, with the tables that they print. */
export function runTimed(root, files) {
  const flags = ["--test", "--test-concurrency=1", `--test-timeout=${timeoutMs}`];
  const args = [...flags, "--test-reporter=spec", ...files];
  return start(root, args, environment(root));
}

function runFiles(root, files, atOnce, env) {
  const reporter = pathToFileURL(join(root, "tools", "report.mjs")).href;
  const flags = [
    ["--import", pathToFileURL(join(root, "tools", "property-seed.mjs")).href],
    ["--test", `--test-timeout=${timeoutMs}`, `--test-concurrency=${atOnce}`],
    [`--test-reporter=${isOneFile(files) ? "spec" : reporter}`],
  ];
  return start(root, [...flags.flat(), ...files], env);
}

/** Somebody works on it, and wants to see its tests by name. */
function isOneFile(files) {
  return files.length === 1 && files[0].endsWith(".test.ts");
}

function listed(path) {
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
}

function start(root, args, env) {
  const node = pinnedNode(root);
  console.log(`seed of the random tests: PILOTHOUSE_SEED=${env.PILOTHOUSE_SEED}`);
  console.log(`> ${relative(root, node)} ${args.slice(0, 4).join(" ")}`);
  return spawnSync(node, args, { cwd: root, env, stdio: "inherit" }).status ?? 1;
}

/**
 * Compiled modules are kept where the launcher keeps them: a process that imports the plane takes 0.7 s of CPU instead of 2.
 * What is set already stays.
 */
function environment(root) {
  return {
    PILOTHOUSE_SEED: String(treeSeed(root)),
    NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "pilothouse"),
    ...process.env,
  };
}

function emptyLists(root) {
  const lists = join(root, ".cache", "tests");
  rmSync(lists, { recursive: true, force: true });
  mkdirSync(lists, { recursive: true });
  return lists;
}

/**
 * Tests of whole processes on a machine that is busy with others' work: they wait for real clocks and ports.
 * One of a room that fails once has found something.
 */
function mayRunAgain(failed) {
  const filesMax = 2;
  const isOfProcesses = (path) => path.startsWith("test/");
  return failed.length > 0 && failed.length <= filesMax && failed.every(isOfProcesses);
}

/** The host's own number is one less than it has cores; files of test/process wait for most of their time. */
function filesAtOnce() {
  return Math.max(2, availableParallelism());
}

/** The same sources are tested with the same samples wherever that is, the next ones with others. 1 outside of git. */
function treeSeed(root) {
  const git = spawnSync("git", ["rev-parse", "HEAD:src"], { cwd: root, encoding: "utf8" });
  return git.status === 0 ? Number.parseInt(git.stdout.slice(0, 7), 16) : 1;
}
