/** The folders of cmd stand in an order: shared code imports no role, and a role imports few others. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";

/** Besides `shared`, which every folder may import. `.` are the files beside this one, which may import all. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  shared: [],
  plane: [],
  store: [],
  sink: [],
  scheduler: [],
  "controller-manager": [],
  hollow: [],
  coordinator: [],
  region: ["coordinator"],
  autoscaler: [],
  doctor: [],
  init: [],
  compat: [],
  etcd: ["store"],
  apiserver: ["plane"],
  migrate: ["store"],
  relay: ["sink"],
  up: ["plane", "relay"],
  "resource-types": ["."],
};

test("folders of cmd import those below them only", () => {
  const files = globSync("**/*.ts", { cwd: import.meta.dirname }).map((path) =>
    path.replaceAll("\\", "/"),
  );
  assert.ok(files.length > 100, `${files.length} files found`);
  const wrong = files.flatMap((path) => {
    const folder = posix.dirname(path).split("/")[0] ?? ".";
    if (folder === "." || folder === "testing" || path.endsWith(".test.ts")) return [];
    const below = ["shared", folder, ...(mayImport[folder] ?? [])];
    const text = readFileSync(new URL(path, import.meta.url), "utf8");
    return [...text.matchAll(/(?:from|import\() ?"(\.[^"]+)"/g)]
      .map(([, specifier = ""]) => posix.join(posix.dirname(path), specifier))
      .filter((target) => !below.includes(posix.dirname(target).split("/")[0] ?? "."))
      .map((target) => `${path} imports ${target}`);
  });
  assert.deepEqual(wrong, []);
});
