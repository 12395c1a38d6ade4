/** docs/reading.md names files that exist, and functions that are declared in a file of their stop. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

const root = new URL("..", import.meta.url);
const page = readFileSync(new URL("docs/reading.md", root), "utf8");
const files = /`((?:src|tools)\/[\w./-]+\.ts)`/g;
/** `#put`, `Place.of`, `sequence(batch, command)`. */
const names = /`(?:\w+\.)?(#?[a-zA-Z]\w*)(?:\([\w, ]*\))?`/g;

/** Numbered items, each with its lines. */
function stopsOf(text: string): readonly string[] {
  return text.split(/\n(?=\d+\. |## |\n)/).filter((part) => /^\d+\. /.test(part));
}

function groups(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, name = ""]) => name);
}

/** Whether `source` declares a function, method, field or type of this name. */
function isDeclared(name: string, source: string): boolean {
  const keyword = "(?:function|const|class|interface|type|static|async|get|readonly)\\*?";
  const start = `^(?: *(?:export )?(?:${keyword} )*${keyword} | {2})`;
  return new RegExp(`${start}${name}\\??(?:<[^>]*>)?(?:\\(|:| =| \\{)`, "m").test(source);
}

/** What a stop names and its files do not have. */
function missing(stop: string): readonly string[] {
  const named = groups(stop, files);
  const gone = named.filter((path) => !existsSync(new URL(path, root)));
  if (gone.length > 0) return gone;
  const sources = named.map((path) => readFileSync(new URL(path, root), "utf8"));
  return groups(stop, names).filter((name) => !sources.some((text) => isDeclared(name, text)));
}

test("the reading page has three ways, and each stop names its file and its functions", () => {
  const stops = stopsOf(page);
  assert.equal(stops.length, 10 + 8 + 7);
  for (const stop of stops) {
    assert.match(stop, /^\d+\. \*\*`src\//);
    assert.ok(groups(stop, names).length > 0, stop);
    assert.deepEqual(missing(stop), [], stop);
  }
});

test("a file that is gone and a function that is called, but not declared, are found", () => {
  assert.deepEqual(missing("1. **`src/gone.ts`** - `run`"), ["src/gone.ts"]);
  assert.deepEqual(
    missing("1. **`src/commit/store/commit.ts`** - `#start`, `append`, `Place.of`"),
    ["append", "of"],
  );
});
