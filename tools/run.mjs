/**
 * The development commands, on the pinned Node: `test`, `check`, `attacks`, `generate`, `sim`, `soak`, `bench`, `takeover`,
 * `lockstep`, `kubelet-drill`, `real-definitions`, `real-controllers`.
 * Each prints what it runs; the first failure ends it with that exit code.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { changedScope } from "./changed.mjs";
import { namedFiles } from "./choose.mjs";
import { pinnedNode } from "./node-path.mjs";
import { roomFolders, roomOf } from "./rooms.mjs";
import { runTests, runTimed } from "./run-tests.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const node = pinnedNode(root);
const binaries = join(root, "node_modules", ".bin");
const rooms = roomFolders(root);
/** All that is checked and tested. */
const folders = ["src", "tools", "test"];

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
  "gates",
  "fairness",
  "scheduler",
  "stripes",
  "views",
  "zone-loss",
  "nodes",
  "cores",
];
/** Rooms that `check` tests, besides the rules of the tree: what everything stands on, and the way of a write to its watchers. */
const quickRooms = new Set(
  "base platform wire api flowcontrol auth admission store watch registry client server".split(" "),
);
/** Hundreds of seeded crashes and replicas: three quarters of the time of that room. */
const longTests = /\/store\/(crash|replica)\.test\.ts$/;
/** Without a name it is the first. */
const soaks = ["relay", "churn", "client"];

const commands = {
  generate: () => run(node, ["tools/generate/main.ts"]),
  /** `--no-tests` leaves the tests to a later command; `--changed`, `--changed=main`: what differs from HEAD, from main. */
  check(...args) {
    const changed = args.find((arg) => arg.split("=")[0] === "--changed");
    const scope = changed === undefined ? whole() : changedScope(root, changed.split("=")[1]);
    checkTypes("tsconfig.json");
    checkTypes("tsconfig.pure.json");
    if (scope.linted.length > 0) run(join(binaries, "oxlint"), ["--type-aware", ...scope.linted]);
    if (scope.formatted.length > 0) run(join(binaries, "oxfmt"), ["--check", ...scope.formatted]);
    if (args.includes("--no-tests")) return;
    runTests(root, scope.tests(testFiles(folders)));
  },
  // What measures the loop of a live process is not run beside other tests.
  // `--again`: what fails of whole processes is run once more, alone. `--at-once=3`: files, instead of one per core.
  test(...args) {
    const names = args.filter((arg) => !arg.startsWith("--"));
    const files = testFiles(folders).filter((path) => !isTimed(path));
    const atOnce = Number(args.find((arg) => arg.startsWith("--at-once="))?.split("=")[1] ?? 0);
    const options = { again: args.includes("--again"), atOnce };
    runTests(root, names.length === 0 ? files : chosen(files, names), options);
  },
  attacks(...args) {
    if (args[0] === "--fuzz") run(node, ["test/attacks/fuzz/main.ts", ...args.slice(1)]);
    else
      end(
        runTimed(
          root,
          testFiles(["test/attacks"]).filter((path) => isNamed(path, args)),
        ),
      );
  },
  differential: (...args) => run(node, ["test/differential/main.ts", ...args]),
  takeover: (...args) => run(node, ["test/process/takeover.ts", ...args]),
  lockstep: (...args) => run(node, ["test/differential/scheduler/main.ts", ...args]),
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

/** What has not changed since the last time is not checked again: 3 s of CPU instead of 15. */
function checkTypes(config) {
  const known = join(root, ".cache", config.replace("json", "tsbuildinfo"));
  run(join(binaries, "tsc"), ["-p", config, "--incremental", "--tsBuildInfoFile", known]);
}

/** All that `check` looks at, when it is not asked for less. */
function whole() {
  return { linted: folders, formatted: folders, tests: (files) => files.filter(isQuick) };
}

function chosen(files, names) {
  try {
    return namedFiles(files, names, rooms);
  } catch (error) {
    console.error(`test: ${error.message}`);
    process.exit(2);
  }
}

const [command = "", ...args] = process.argv.slice(2);
if (!Object.hasOwn(commands, command)) {
  console.error(`run: unknown command "${command}"; known: ${Object.keys(commands).join(", ")}`);
  process.exit(2);
}
commands[command](...args);

function run(program, programArgs) {
  console.log(`> ${relative(root, program)} ${programArgs.slice(0, 4).join(" ")}`);
  end(spawnSync(program, programArgs, { cwd: root, stdio: "inherit" }).status ?? 1);
}

/** The first failure ends the command. */
function end(status) {
  if (status !== 0) process.exit(status);
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

function isQuick(path) {
  if (path.startsWith("tools/")) return true;
  return quickRooms.has(roomOf(rooms, path)) && !longTests.test(path);
}

function testFiles(within) {
  return within.flatMap((folder) => (existsSync(join(root, folder)) ? walk(folder) : []));
}

function walk(folder) {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return walk(path);
    return entry.name.endsWith(".test.ts") ? [path] : [];
  });
}
