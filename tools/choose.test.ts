/** Which tests a name or a change chooses. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

type Folders = ReadonlyMap<string, string>;
type Paths = readonly string[];

// Plain JavaScript: the commands run on an older host Node too.
const { namedFiles, reachedBy, testsOf } = (await import("./choose.mjs" as string)) as {
  readonly namedFiles: (files: Paths, names: Paths, folders: Folders) => Paths;
  readonly reachedBy: (changed: Paths, sources: readonly Source[], folders: Folders) => Paths;
  readonly testsOf: (reached: Paths, files: Paths) => Paths;
};
const { roomFolders, roomOf } = (await import("./rooms.mjs" as string)) as {
  readonly roomFolders: (root: string) => Folders;
  readonly roomOf: (folders: Folders, path: string) => string;
};

interface Source {
  readonly path: string;
  readonly text: string;
}

const folders = new Map([
  ["watch", "src/watch"],
  ["relay", "src/crowd/relay"],
]);
const tests = [
  "src/watch/a.test.ts",
  "src/watch/deep/b.test.ts",
  "src/crowd/relay/c.test.ts",
  "test/process/d.test.ts",
];

test("a name is a room, a folder or a file", () => {
  assert.deepEqual(namedFiles(tests, ["watch"], folders), tests.slice(0, 2));
  assert.deepEqual(namedFiles(tests, ["relay", "./src/watch/a.test.ts"], folders), [
    tests[0],
    tests[2],
  ]);
  assert.deepEqual(namedFiles(tests, ["test/process/"], folders), [tests[3]]);
});

test("a name that chooses nothing is an error which lists the rooms", () => {
  assert.throws(
    () => namedFiles(tests, ["watches"], folders),
    /no tests in "watches".*watch, relay/,
  );
});

const sources = [
  { path: "src/watch/ring.ts", text: "" },
  { path: "src/watch/cache.ts", text: 'import { Ring } from "./ring.ts";' },
  { path: "src/watch/cache.test.ts", text: 'import { Cache } from "./cache.ts";' },
  { path: "src/watch/other.ts", text: "" },
  { path: "src/crowd/relay/mirror.ts", text: 'import type { Cache } from "#watch/cache.ts";' },
  { path: "src/crowd/relay/far.ts", text: 'import { Mirror } from "./mirror.ts";' },
  { path: "src/crowd/relay/late.ts", text: 'const { Ring } = await import("#watch/ring.ts");' },
];

test("a change reaches its room, and the files of others that import it", () => {
  assert.deepEqual(reachedBy(["src/watch/ring.ts"], sources, folders), [
    "src/crowd/relay/late.ts",
    "src/crowd/relay/mirror.ts",
    "src/watch/cache.test.ts",
    "src/watch/cache.ts",
    "src/watch/ring.ts",
  ]);
});

test("the tests of a change are those that it reaches, and those beside what it reaches", () => {
  const files = [
    "src/watch/cache.test.ts",
    "src/watch/other.test.ts",
    "src/crowd/relay/mirror.test.ts",
  ];
  const reached = ["src/watch/cache.test.ts", "src/crowd/relay/mirror.ts"];
  assert.deepEqual(testsOf(reached, files), [files[0], files[2]]);
});

test("the rooms are those of package.json", () => {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const here = roomFolders(root);
  assert.equal(roomOf(here, `${here.get("watch")}/cache.ts`), "watch");
  assert.equal(roomOf(here, "tools/rooms.mjs"), "");
});
