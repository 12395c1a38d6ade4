/** What a start of `up` loads, and how it is found. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { root } from "./harness.ts";

const { ownModule } = (await import("../../bin/own-modules.mjs" as string)) as {
  readonly ownModule: (
    own: { readonly folder: string; readonly imports: Readonly<Record<string, string>> },
    specifier: string,
    parentUrl?: string,
  ) => string | undefined;
};

const src = pathToFileURL(join(root, "src", "/")).href;
const { imports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly imports: Readonly<Record<string, string>>;
};
const own = { folder: src, imports };

void test("the launcher finds each import of the product where Node finds it", () => {
  let found = 0;
  for (const file of sources()) {
    const parent = pathToFileURL(file).href;
    const { resolve } = createRequire(file);
    for (const [, fixed, dynamic = ""] of readFileSync(file, "utf8").matchAll(imported)) {
      const specifier = fixed ?? dynamic;
      const url = ownModule(own, specifier, parent);
      if (url === undefined)
        assert.doesNotMatch(specifier, /^[#.].*\.ts$/, `${file}: ${specifier}`);
      else assert.equal(url, pathToFileURL(resolve(specifier)).href);
      found += url === undefined ? 0 : 1;
    }
  }
  assert.ok(found > 3000, `${found} imports of own modules`);
});

void test("the launcher leaves to Node what is not the product's own code", () => {
  const parent = `${src}run/cmd/main.ts`;
  assert.equal(ownModule(own, "yaml", parent), undefined);
  assert.equal(ownModule(own, "node:fs", parent), undefined);
  assert.equal(ownModule(own, "../../../package.json", parent), undefined);
  assert.equal(ownModule(own, "../../../tools/layers.ts", parent), undefined);
  assert.equal(ownModule(own, "./main.ts", pathToFileURL(join(root, "x.ts")).href), undefined);
  assert.equal(ownModule(own, "./main.ts", undefined), undefined);
});

void test("a start of up does not load undici", () => {
  assert.ok(!builtinsOfUp().some((name) => name.includes("undici")));
});

const imported = /^(?:import|export)\s[^;"]*"([^"]+)"|import\("([^"]+)"\)/gm;

function sources(): readonly string[] {
  const all = readdirSync(join(root, "src"), { recursive: true, withFileTypes: true });
  return all
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.endsWith(".test.ts"));
}

/** Built-in modules of Node that are loaded with the role, among them its internal ones. */
function builtinsOfUp(): readonly string[] {
  const program = `await import("${src}run/cmd/up/run.ts"); console.log(process.moduleLoadList.join("\\n"))`;
  const args = ["--input-type=module", "--eval", program];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout.split("\n");
}
