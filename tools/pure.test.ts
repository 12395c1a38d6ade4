/** The fence of the pure rooms bites: host types are unknown there, and the projects name the same rooms. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folderOf, layers } from "./layers.ts";

const root = join(import.meta.dirname, "..");

interface Project {
  readonly include: readonly string[];
}

test("the pure project compiles exactly the rooms that the layer table calls pure", () => {
  const project = JSON.parse(readFileSync(join(root, "tsconfig.pure.json"), "utf8")) as Project;
  const compiled = project.include.filter((path) => path.startsWith("src/"));
  const pure = Object.keys(layers)
    .filter((name) => layers[name]?.pure === true)
    .map((name) => folderOf(name) ?? name);
  assert.deepEqual(compiled.toSorted(), pure.toSorted());
});

test("a planted use of the host does not compile as pure", () => {
  const folder = mkdtempSync(join(root, "node_modules", ".planted-"));
  try {
    writeFileSync(
      join(folder, "planted.ts"),
      "export const pid = process.pid; setTimeout(() => {}, 1);\n",
    );
    const config = {
      extends: join(root, "tsconfig.pure.json"),
      include: [join(root, "tools/pure-globals.d.ts"), "planted.ts"],
      exclude: [],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = join(root, "node_modules", ".bin", "tsc");
    const result = spawnSync(tsc, ["-p", folder], { encoding: "utf8" });
    assert.notEqual(result.status, 0);
    assert.match(result.stdout, /process/);
    assert.match(result.stdout, /setTimeout/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
