/** The rules across files hold for the tree, and bite: one planted breach per rule. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type GraphRule, type Permits, tidyGraph } from "./tidy-graph.ts";
import { permits } from "./tidy-permits.ts";
import type { SourceFile } from "./tidy.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

test("every export has a user, and no files import each other", () => {
  const findings = tidyGraph(["src", "test", "tools", "bin"].flatMap(filesOf), permits);
  assert.deepEqual(
    findings.map((f) => `${f.path} [${f.rule}] ${f.message}`),
    [],
  );
});

test("the list of permits only becomes shorter", () => {
  const entries = Object.values(permits.testOnly).flat();
  assert.ok(entries.length <= 48, `${entries.length} exports for tests alone`);
  assert.equal(permits.cycles.length, 0);
});

const none: Permits = { entryPoints: [], testOnly: {}, cycles: [] };
const user = { path: "src/commit/store/user.ts", text: 'import { a } from "./a.ts";\n' };
const tester = { path: "src/commit/store/a.test.ts", text: 'import { a } from "./a.ts";\n' };
const declared = { path: "src/commit/store/a.ts", text: "export function a(): void {}\n" };

const breaches: Readonly<
  Record<GraphRule, { readonly files: readonly SourceFile[]; readonly permits?: Partial<Permits> }>
> = {
  "unused-export": { files: [declared] },
  "test-only-export": { files: [declared, tester] },
  "stale-permit": {
    files: [declared, user],
    permits: { testOnly: { "once needed": ["src/commit/store/a.ts a"] } },
  },
  cycle: {
    files: [
      { path: "src/commit/store/a.ts", text: 'import type { B } from "./b.ts";\n' },
      { path: "src/commit/store/b.ts", text: 'import { c } from "#store/c.ts";\n' },
      { path: "src/commit/store/c.ts", text: 'import {\n  type A,\n} from "../store/a.ts";\n' },
    ],
  },
};

for (const [rule, { files, permits: given }] of Object.entries(breaches)) {
  test(`a planted breach of "${rule}" is found`, () => {
    const rules = tidyGraph(files, { ...none, ...given }).map((finding) => finding.rule);
    assert.deepEqual(rules, [rule]);
  });
}

test("an import by another name, of types, of a whole module or at run time is a use", () => {
  const files = (line: string): readonly SourceFile[] => [
    { path: "src/commit/store/a.ts", text: "export class A {}\n" },
    { path: "src/run/cmd/user.ts", text: `${line}\n` },
  ];
  for (const line of [
    'import { A as B } from "#store/a.ts";',
    'import type { A } from "../../commit/store/a.ts";',
    'import {\n  x,\n  type A,\n} from "#store/a.ts";',
    'import * as a from "#store/a.ts";',
    'export { A } from "#store/a.ts";',
    'const { A } = await import("#store/a.ts");',
    'new Worker(new URL("../../commit/store/a.ts", import.meta.url));',
  ]) {
    assert.deepEqual(tidyGraph(files(line), none), [], line);
  }
  const [finding] = tidyGraph(files('import { B } from "#store/a.ts";'), none);
  assert.equal(finding?.rule, "unused-export");
});

test("tests may have a type or a permitted export for themselves, and folders of their own", () => {
  const imports = (path: string) => ({
    path: "src/run/cmd/a.test.ts",
    text: `import { a } from "${path}";`,
  });
  const type = { path: "src/commit/store/a.ts", text: "export interface a {}\n" };
  assert.deepEqual(tidyGraph([type, imports("#store/a.ts")], none), []);
  const fixture = { path: "src/commit/store/testing/a.ts", text: declared.text };
  assert.deepEqual(tidyGraph([fixture, imports("#store/testing/a.ts")], none), []);
  const testOnly = { "a reason": ["src/commit/store/a.ts a"] };
  assert.deepEqual(tidyGraph([declared, tester], { ...none, testOnly }), []);
});

function filesOf(folder: string): readonly SourceFile[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|mjs)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({
      path: relative(root, file).replaceAll("\\", "/"),
      text: readFileSync(file, "utf8"),
    }));
}
