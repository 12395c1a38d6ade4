/**
 * The development commands, on the pinned Node: `test`, `check`, `attacks`, `generate`, `sim`, `soak`, `bench`, `takeover`,
 * `kubelet-drill`, `real-definitions`, `real-controllers`.
 * Each prints what it runs; the first failure ends it with that exit code.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { pinnedNode } from "./node-path.mjs";
import { bundleTests } from "./test-bundles.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const node = pinnedNode(root);
const binaries = join(root, "node_modules", ".bin");

const benches = [
  "up",
  "store",
  "fanout",
  "poll",
  "herd",
  "crowd",
  "writes",
  "extension",
  "replicas",
  "client",
  "sinks",
  "doctor",
  "xds",
];
/** Without a name it is the first. */
const soaks = ["relay", "churn", "client"];

const commands = {
  generate: () => run(node, ["tools/generate/main.ts"]),
  /** `--no-tests`: for who runs all of them anyway. */
  check(...args) {
    run(join(binaries, "tsc"), ["-p", "."]);
    run(join(binaries, "tsc"), ["-p", "tsconfig.pure.json"]);
    run(join(binaries, "oxlint"), ["--type-aware", "src", "tools", "test"]);
    run(join(binaries, "oxfmt"), ["--check", "src", "tools", "test"]);
    if (args.includes("--no-tests")) return;
    runTests(testFiles(["tools"]).concat(testFiles(["src"]).filter(fast)));
  },
  // What measures the loop of a live process is not run beside other tests.
  // `--again`: what fails of whole processes is run once more, alone.
  test(...args) {
    const files = testFiles(["tools", "src", "test"]).filter((path) => !isTimed(path));
    runTests(files, args.includes("--again"));
  },
  attacks(...args) {
    if (args[0] === "--fuzz") run(node, ["test/attacks/fuzz/main.ts", ...args.slice(1)]);
    else runAttacks(testFiles(["test/attacks"]).filter((path) => isNamed(path, args)));
  },
  differential: (...args) => run(node, ["test/differential/main.ts", ...args]),
  takeover: (...args) => run(node, ["test/process/takeover.ts", ...args]),
  "real-definitions": (...args) => run(node, ["test/extension/real-definitions.ts", ...args]),
  "real-controllers": (...args) => run(node, ["test/extension/real-controllers.ts", ...args]),
  sim: (...args) => run(node, ["src/run/sim/main.ts", ...args]),
  soak(...given) {
    const named = given[0] !== undefined && !given[0].startsWith("-");
    const [name, ...args] = named ? given : ["relay", ...given];
    if (!soaks.includes(name)) {
      console.error(`soak: one of ${soaks.join(", ")}: npm run soak -- ${soaks[1]} --help`);
      process.exit(2);
    }
    run(node, [`test/process/${name}-soak.ts`, ...args]);
  },
  "kubelet-drill": (...args) => run(node, ["test/kubelet-drill/main.ts", ...args]),
  bench(name = "", ...args) {
    if (!benches.includes(name)) {
      console.error(`bench: one of ${benches.join(", ")}: npm run bench -- ${benches[0]} --help`);
      process.exit(2);
    }
    run(node, [`test/bench/${name}.ts`, ...args]);
  },
};

const [command = "", ...args] = process.argv.slice(2);
if (!Object.hasOwn(commands, command)) {
  console.error(`run: unknown command "${command}"; known: ${Object.keys(commands).join(", ")}`);
  process.exit(2);
}
commands[command](...args);

function run(program, programArgs) {
  const status = statusOf(program, programArgs);
  if (status !== 0) process.exit(status);
}

function statusOf(program, programArgs) {
  console.log(`> ${relative(root, program)} ${programArgs.slice(0, 4).join(" ")}`);
  return spawnSync(program, programArgs, { cwd: root, stdio: "inherit" }).status ?? 1;
}

function runTests(files, again = false) {
  if (files.length === 0) throw new Error("no test files found");
  process.env.PILOTHOUSE_SEED ??= String(treeSeed());
  console.log(`seed of the random tests: PILOTHOUSE_SEED=${process.env.PILOTHOUSE_SEED}`);
  const before = pathToFileURL(join(root, "tools", "property-seed.mjs")).href;
  const reporter = `--test-reporter=${pathToFileURL(join(root, "tools", "report.mjs")).href}`;
  const flags = ["--import", before, "--test", "--test-timeout=300000"];
  const bundled = bundleTests(root, files);
  const failed = join(root, ".cache", "failed-tests");
  writeFileSync(failed, "");
  process.env.PILOTHOUSE_FAILED_TESTS = failed;
  const status = statusOf(node, [
    ...flags,
    `--test-concurrency=${filesAtOnce()}`,
    reporter,
    ...bundled,
  ]);
  if (status === 0) return;
  const rerun = readFileSync(failed, "utf8").split("\n").filter(Boolean);
  if (!again || !mayRunAgain(rerun)) process.exit(status);
  console.log(`\nfailed beside others, now alone: ${rerun.join(", ")}`);
  run(node, [...flags, "--test-concurrency=1", reporter, ...rerun]);
  console.log(`\npassed alone, and must be made to pass beside others: ${rerun.join(", ")}`);
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

/** One file at a time, with the tables that they print; `names` are parts of paths, none: all of them. */
function runAttacks(files) {
  process.env.PILOTHOUSE_SEED ??= String(treeSeed());
  const flags = ["--test", "--test-concurrency=1", "--test-timeout=300000"];
  run(node, [...flags, "--test-reporter=spec", ...files]);
}

function isTimed(path) {
  return path.startsWith("test/attacks/loop/");
}

/** What measures resident memory and waits needs a machine of its own: it runs when named, or with all. */
function isNamed(path, names) {
  if (names.length === 0) return true;
  if (path.endsWith("callers.test.ts")) return names.includes("callers");
  return names.some((name) => path.includes(name));
}

/** The same sources are tested with the same samples wherever that is, the next ones with others. 1 outside of git. */
function treeSeed() {
  const git = spawnSync("git", ["rev-parse", "HEAD:src"], { cwd: root, encoding: "utf8" });
  return git.status === 0 ? Number.parseInt(git.stdout.slice(0, 7), 16) : 1;
}

/** Rooms whose tests run in a second or two; the rest belongs to `npm test`. */
function fast(path) {
  return /^src\/\w+\/(base|platform|wire|api|flowcontrol|auth|admission)\//.test(path);
}

function testFiles(folders) {
  return folders.flatMap((folder) => (existsSync(join(root, folder)) ? walk(folder) : []));
}

function walk(folder) {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return walk(path);
    return entry.name.endsWith(".test.ts") ? [path] : [];
  });
}
