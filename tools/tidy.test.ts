/** The tree obeys tidy, and tidy bites: one planted breach per rule. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { folderOf, layers } from "./layers.ts";
import { tidy, type RuleName } from "./tidy.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

test("every source file obeys the rules of the house", () => {
  const findings = ["src", "tools", "test"].flatMap(sources).flatMap((path) => {
    return tidy({ path, text: readFileSync(join(root, path), "utf8") });
  });
  const report = findings.map((f) => `${f.path}:${f.line} [${f.rule}] ${f.message}`);
  assert.deepEqual(report, []);
});

test("the layer table is a table of layers: edges go down, or sideways within the stated list", () => {
  for (const [name, room] of Object.entries(layers)) {
    for (const target of room.mayImport) {
      const level = layers[target]?.level ?? Number.NaN;
      assert.ok(level <= room.level, `${name} -> ${target}`);
      assert.ok(!layers[target]?.mayImport.includes(name), `${name} <-> ${target}`);
    }
  }
});

test("every room stands in its wing, where `#room/...` leads", () => {
  const { imports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly imports: Readonly<Record<string, string>>;
  };
  const wanted = Object.keys(layers).map((name) => [`#${name}/*`, `./${folderOf(name)}/*`]);
  assert.deepEqual(Object.entries(imports).toSorted(), wanted.toSorted());
  const folders = readdirSync(join(root, "src"), { withFileTypes: true })
    .filter((wing) => wing.isDirectory())
    .flatMap((wing) =>
      readdirSync(join(root, "src", wing.name)).map((room) => `src/${wing.name}/${room}`),
    );
  assert.deepEqual(folders.toSorted(), Object.keys(layers).map(folderOf).toSorted());
});

test("every room with code has a README that names its invariants", () => {
  for (const name of Object.keys(layers)) {
    const folder = folderOf(name) ?? name;
    if (!existsSync(join(root, folder)) || sources(folder).length === 0) continue;
    const readme = join(folder, "README.md");
    assert.ok(existsSync(readme), `${folder}/README.md is missing`);
    assert.match(readFileSync(readme, "utf8"), /[Ii]nvariant/, `${folder}/README.md`);
  }
});

const header = "/** What it is. */\n";
const longBody = "  a();\n".repeat(75);
const breaches: Readonly<Record<RuleName, { readonly path: string; readonly text: string }>> = {
  testing: {
    path: "src/commit/store/a.ts",
    text: `${header}import { FakeDisk } from "#platform/testing/disk.ts";\n`,
  },
  sim: {
    path: "src/commit/store/a.test.ts",
    text: `${header}import { x } from "#sim/recorder.ts";\n`,
  },
  edge: { path: "src/commit/store/a.ts", text: `${header}import { x } from "#server/chain.ts";\n` },
  relative: {
    path: "src/commit/store/a.ts",
    text: `${header}import { x } from "../api/object.ts";\n`,
  },
  pure: { path: "src/loops/scheduler/a.ts", text: `${header}const now = Date.now();\n` },
  name: { path: "src/commit/store/utils.ts", text: header },
  header: { path: "src/commit/store/a.ts", text: "export const a = 1;\n" },
  "file-length": { path: "src/commit/store/a.ts", text: header + "const a = 1;\n".repeat(601) },
  "function-length": {
    path: "src/commit/store/a.ts",
    text: `${header}function f() {\n${longBody}}\n`,
  },
  todo: { path: "src/commit/store/a.ts", text: `${header}// TODO later\n` },
  word: { path: "src/commit/store/a.ts", text: `${header}// see /${"work"}/x\n` },
  "default-export": { path: "src/commit/store/a.ts", text: `${header}export default 1;\n` },
  idiom: { path: "src/commit/store/a.ts", text: `${header}// Whoever reads this is told twice.\n` },
  unbounded: { path: "src/commit/store/a.ts", text: `${header}const queueMax = Infinity;\n` },
  charged: {
    path: "src/gate/apiserver/a.ts",
    text: `${header}import { type Holding, uncharged } from "#platform/ledger.ts";\n`,
  },
  inherited: {
    path: "src/core/api/a.ts",
    text: `${header}const verbs: Readonly<Record<string, string>> = {\n  GET: "get",\n};\nexport const verb = (m: string) => verbs[m];\n`,
  },
};

for (const [rule, file] of Object.entries(breaches)) {
  test(`a planted breach of "${rule}" is found`, () => {
    const rules = tidy(file).map((finding) => finding.rule);
    assert.deepEqual(rules, [rule]);
  });
}

test("a table that is filled by names from outside is found, one by names of ours passes", () => {
  const table = (line: string): string =>
    `${header}const bag: Record<string, string[]> = {};\n${line}\n`;
  const rulesOf = (line: string): readonly string[] =>
    tidy({ path: "src/core/api/a.ts", text: table(line) }).map(({ rule }) => rule);
  assert.deepEqual(rulesOf("bag[name] = [];"), ["inherited"]);
  assert.deepEqual(rulesOf("(bag[part.key] ??= []).push(name);"), ["inherited"]);
  assert.deepEqual(rulesOf('bag["a"] = [];'), []);
  assert.deepEqual(rulesOf("// own keys: a list of ours.\nbag[name] = [];"), []);
});

test("what charges nothing needs a reason, and a listener is for cmd", () => {
  const rulesOf = (path: string, text: string): readonly string[] =>
    tidy({ path, text: header + text }).map(({ rule }) => rule);
  const free = 'import {\n  type Holding,\n  uncharged,\n} from "#platform/ledger.ts";\n';
  assert.deepEqual(rulesOf("src/gate/server/a.ts", free), ["charged"]);
  assert.deepEqual(rulesOf("src/gate/server/a.ts", `// uncharged: shared by all.\n${free}`), []);
  assert.deepEqual(rulesOf("src/gate/server/a.test.ts", free), []);
  const listener = 'import { httpLimits, listen } from "#platform/node/http/http.ts";\n';
  assert.deepEqual(rulesOf("src/crowd/relay/a.ts", listener), ["charged"]);
  assert.deepEqual(rulesOf("src/run/cmd/a.ts", listener), []);
});

test("the fake world is for tests and sim; the fakes of a room are for tests", () => {
  const rulesOf = (path: string, target: string): readonly string[] =>
    tidy({ path, text: `${header}import { x } from "${target}";\n` }).map(({ rule }) => rule);
  const allowed = [
    ["src/commit/store/a.test.ts", "#platform/testing/disk.ts"],
    ["src/commit/store/testing/a.ts", "#platform/testing/clock.ts"],
    ["src/loops/scheduler/testing.ts", "#platform/testing/clock.ts"],
    ["src/core/platform/a.test.ts", "./testing/clock.ts"],
    ["src/run/sim/a.ts", "#platform/testing/network.ts"],
    ["src/run/sim/testing/a.ts", "#relay/testing/fake-upstream.ts"],
    ["src/run/cmd/a.ts", "#api/testing-ground.ts"],
  ] as const;
  for (const [path, target] of allowed) assert.deepEqual(rulesOf(path, target), [], path);
  const refused = [
    ["src/run/cmd/a.ts", "#client/testing/fake-api.ts", "testing"],
    ["src/core/platform/a.ts", "./testing/clock.ts", "testing"],
    ["src/gate/auth/a.ts", "./testing.ts", "testing"],
    ["src/run/sim/a.ts", "#relay/testing/fake-upstream.ts", "testing"],
    ["src/crowd/relay/testing/a.ts", "#sim/testing/fed.ts", "sim"],
  ] as const;
  for (const [path, target, rule] of refused) {
    assert.deepEqual(rulesOf(path, target), [rule], `${path} ${target}`);
  }
});

test("a long function with a stated reason passes", () => {
  const text = `${header}// long: one table, read top to bottom\nfunction f() {\n${longBody}}\n`;
  assert.deepEqual(tidy({ path: "src/commit/store/a.ts", text }), []);
});

function sources(folder: string): string[] {
  const absolute = join(root, folder);
  if (!existsSync(absolute)) return [];
  return readdirSync(absolute, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .filter((path) => !path.includes("/gen/"));
}
