/**
 * The published package as a stranger's project sees it: built by `prepack`, put under node_modules,
 * type-checked against its declarations, and run.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

const root = join(import.meta.dirname, "../..");
const project = mkdtempSync(join(tmpdir(), "pilothouse-package-"));
const exampleNames = ["list-pods"];

const compilerOptions = {
  target: "es2024",
  lib: ["es2024", "esnext.disposable"],
  module: "nodenext",
  types: ["node"],
  strict: true,
  noEmit: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  allowImportingTsExtensions: true,
};

before(() => {
  const installed = join(project, "node_modules/pilothouse");
  mkdirSync(installed, { recursive: true });
  run([join(root, "tools/prepack.mjs"), join(installed, "dist")]);
  cpSync(join(root, "package.json"), join(installed, "package.json"));
  for (const name of ["commander", "pino", "re2js", "yaml", "@types"]) {
    symlinkSync(join(root, "node_modules", name), join(project, "node_modules", name));
  }
  for (const name of exampleNames) {
    cpSync(join(root, "examples", `${name}.ts`), join(project, `${name}.ts`));
  }
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions }));
});
after(() => rmSync(project, { recursive: true }));

/** `args` to this Node, in the project. @returns what it printed. */
function run(args: readonly string[]): string {
  const done = spawnSync(process.execPath, args, { cwd: project, encoding: "utf8" });
  assert.equal(done.status, 0, `${args.join(" ")}\n${done.stdout}${done.stderr}`);
  return done.stdout;
}

test("every subpath of the package can be imported, and its declarations are there", () => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const names = Object.keys(exports).filter((name) => name !== "./package.json");
  const lines = names.map((name, at) => `import * as m${at} from "pilothouse${name.slice(1)}";`);
  const uses = names.map((_name, at) => `typeof m${at}`);
  writeFileSync(
    join(project, "every.ts"),
    `${lines.join("\n")}\nconsole.log(${uses.join(", ")});\n`,
  );
  assert.match(run(["every.ts"]), /^(object ?)+\n$/);
});

test("the examples and the guide's code type-check against the package", () => {
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  run([tsc, "-p", "."]);
  const misuse =
    'import { connect } from "pilothouse/client";\nawait connect({ kubeconfig: 7 });\n';
  writeFileSync(join(project, "misuse.ts"), misuse);
  const done = spawnSync(process.execPath, [tsc, "-p", "."], { cwd: project, encoding: "utf8" });
  rmSync(join(project, "misuse.ts"));
  assert.match(done.stdout, /misuse\.ts.*number.*string/, "types of the package are not `any`");
});

test("list-pods prints the Pods of a plane that the same package started", () => {
  assert.equal(run(["list-pods.ts"]), "default/hello\n");
});
