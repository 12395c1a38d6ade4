/** What a test run prints at its end: every failure, every skip with its reason, and the counts. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const reporter = fileURLToPath(new URL("report.mjs", import.meta.url));
const directory = mkdtempSync(join(tmpdir(), "pilothouse-report-"));
after(() => rmSync(directory, { recursive: true }));

const some = join(directory, "some.test.mjs");

/** `started`: what the run is given, when it is not the file of `text` itself. */
function runOf(
  text: string,
  started = some,
): { readonly stdout: string; readonly status: number | null } {
  writeFileSync(some, `import { describe, test, after } from "node:test";\n${text}`);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ["--test", `--test-reporter=file://${reporter}`, started];
  return spawnSync(process.execPath, args, { cwd: directory, env, encoding: "utf8" });
}

test("a run ends with every skipped test under its reason, and three counts", () => {
  const { stdout, status } = runOf(`
    test("a", () => {});
    test("b", { skip: "no etcd" }, () => {});
    test("c", (t) => t.skip("no kubectl"));
    test("d", (t) => t.skip());
    describe("suite", () => { test("e", () => {}); test("f", { skip: "no etcd" }, () => {}); });
    describe("whole suite", { skip: "no kubectl" }, () => { test("g", () => {}); });
  `);
  assert.equal(status, 0);
  const [, skips = ""] = stdout.split("skipped:\n");
  assert.deepEqual(skips.split("\n"), [
    "  2 because: no etcd",
    "      some.test.mjs: b",
    "      some.test.mjs: f",
    "  2 because: no kubectl",
    "      some.test.mjs: c",
    "      some.test.mjs: whole suite",
    "  1 because: no reason given",
    "      some.test.mjs: d",
    "",
    "2 passed, 0 failed, 5 skipped",
    "",
  ]);
});

test("of many tests with one reason the first are named, all are counted", () => {
  const { stdout } = runOf(`
    for (let at = 0; at < 30; at++) test(\`number \${at}\`, { skip: "no samples" }, () => {});
  `);
  assert.match(
    stdout,
    /  30 because: no samples\n(?:      some\.test\.mjs: number \d\n){8}      and 22 more\n/,
  );
  assert.match(stdout, /\n0 passed, 0 failed, 30 skipped\n$/);
});

test("failures are printed with their text, and counted once", () => {
  const { stdout, status } = runOf(`
    test("a", () => {});
    test("outer", async (t) => { await t.test("inner", () => { throw new Error("broken"); }); });
    describe("suite", () => { test("e", () => { throw new Error("spoilt"); }); });
    describe("hook", () => { after(() => { throw new Error("left over"); }); test("f", () => {}); });
  `);
  assert.equal(status, 1);
  for (const text of ["broken", "spoilt", "left over"]) assert.match(stdout, new RegExp(text));
  assert.doesNotMatch(stdout, /skipped:/);
  assert.match(stdout, /\n2 passed, 3 failed, 0 skipped\n$/);
});

test("the files with failures and those with skips are written where a variable says", () => {
  process.env["PILOTHOUSE_TEST_LISTS"] = directory;
  const list = (name: string): string => readFileSync(join(directory, name), "utf8");
  try {
    runOf(`test("a", () => { throw new Error("broken"); });`);
    assert.deepEqual([list("failed"), list("skipped")], ["some.test.mjs\n", ""]);
    runOf(`test("a", { skip: "no etcd" }, () => {});`);
    assert.deepEqual([list("failed"), list("skipped")], ["", "some.test.mjs\n"]);
  } finally {
    delete process.env["PILOTHOUSE_TEST_LISTS"];
  }
});

test("a test that another module makes belongs to the file that was started, or to the bundle's room", () => {
  const made = `import { test } from "node:test"; test("a", { skip: "no etcd" }, () => {});`;
  writeFileSync(join(directory, "suite.mjs"), made);
  const bundles = join(directory, "test-bundles");
  mkdirSync(bundles);
  writeFileSync(
    join(bundles, "etcd.test.mjs"),
    `import "../suite.mjs"; import "../some.test.mjs";`,
  );
  process.env["PILOTHOUSE_TEST_LISTS"] = directory;
  try {
    runOf(`import "./suite.mjs";`);
    assert.equal(readFileSync(join(directory, "skipped"), "utf8"), "some.test.mjs\n");
    runOf(`test("b", { skip: "no etcd" }, () => {});`, join(bundles, "etcd.test.mjs"));
    assert.equal(readFileSync(join(directory, "skipped"), "utf8"), "etcd\nsome.test.mjs\n");
  } finally {
    delete process.env["PILOTHOUSE_TEST_LISTS"];
  }
});
