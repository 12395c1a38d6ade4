/**
 * The documents name files that exist: every relative link, and every path in backquotes or code blocks.
 * So do the comments of the sources, which name a file by the end of its path.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { pathOfImport } from "./layers.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const skipped = new Set(["node_modules", ".git", "dist"]);

/** `[text](docs/relay.md#tls)`; not `https://...`, not `#part`. */
const link = /\]\((?![a-z]+:|#)([^)#\s]+)/g;
/** A path from the root, or from `src` as `#room/file.ts`. Folders and globs are not checked. */
const path = /(?<![\w/.#-])((?:src|test|tools|docs|bin)\/[\w./-]+\.(?:ts|mjs|md|json|yaml|c))\b/g;
const roomPath = /`#(\w+\/[\w./-]+\.ts)`/g;

function documents(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const full = join(folder, entry.name);
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : documents(full);
    return entry.name.endsWith(".md") ? [full] : [];
  });
}

/** Names of `text`, in a document of `folder`, that lead nowhere. */
function deadNames(text: string, folder: string): readonly string[] {
  const found = (pattern: RegExp): readonly string[] =>
    [...text.matchAll(pattern)].map(([, name = ""]) => name);
  const names = [
    ...found(link).map((name) => [name, join(folder, name)] as const),
    ...found(path).map((name) => [name, join(root, name)] as const),
    ...found(roomPath).map((name) => [`#${name}`, join(root, pathOfImport(`#${name}`))] as const),
  ];
  return names
    .filter(([name, full]) => !isPattern(name) && !existsSync(full))
    .map(([name]) => name);
}

/** `src/commit/store/engines/NAME.ts` and `#room/file.ts` stand for others. */
function isPattern(name: string): boolean {
  return name.includes("NAME") || name === "#room/file.ts";
}

const comment = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;
const fileInComment = /(?<![\w/.*#-])#?(\w[\w/.-]*\.(?:ts|md))\b/g;

function sourceFiles(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "gen" ? [] : sourceFiles(path);
    return /\.(ts|md)$/.test(entry.name) ? [path] : [];
  });
}

/** Files that the comments of `text`, the source at `path`, name and that are not in `all`. */
function deadInComments(path: string, text: string, all: readonly string[]): readonly string[] {
  const folder = dirname(path);
  return [...text.matchAll(comment)]
    .flatMap(([block]) => [...block.matchAll(fileInComment)].map(([, name = ""]) => name))
    .filter((name) => !isPattern(name) && !/(^|\/)gen\//.test(name))
    .filter((name) => !all.includes(join(folder, name)))
    .filter((name) => !all.some((known) => known === name || known.endsWith(`/${name}`)));
}

test("every file that a comment names is there", () => {
  const all = [...["src", "test", "tools", "docs"].flatMap(sourceFiles), "ARCHITECTURE.md"];
  const read = all.filter((path) => /^(src|test)\/.*\.ts$/.test(path));
  assert.ok(read.length > 800, `only ${read.length} sources found`);
  const dead = read.flatMap((path) =>
    deadInComments(path, readFileSync(join(root, path), "utf8"), all).map(
      (name) => `${path}: ${name}`,
    ),
  );
  assert.deepEqual(dead, []);
});

test("a file that only a comment knows is found, one named by the end of its path is not", () => {
  const all = ["src/crowd/client/api-errors.ts", "src/crowd/client/client.ts"];
  const text =
    "/** As `client/gone.ts` and #client/api-errors.ts. */\n// See client.ts\nf('x.ts');";
  assert.deepEqual(deadInComments("src/a/b.ts", text, all), ["client/gone.ts"]);
});

/** Words in camel case within backquotes: functions, methods, options and types, as a README names them. */
function codeWords(text: string): readonly string[] {
  const inline = text.replace(/```[\s\S]*?```/g, "").matchAll(/`([^`\n]+)`/g);
  return [...inline].flatMap(
    ([, code = ""]) => code.match(/\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*/g) ?? [],
  );
}

test("every function, option and type that a room's README names is in the sources", () => {
  const all = ["src", "test", "tools"].flatMap(sourceFiles);
  const sources = all.filter((path) => path.endsWith(".ts"));
  const known = new Set(
    sources.flatMap((path) => readFileSync(join(root, path), "utf8").match(/\w+/g) ?? []),
  );
  const readmes = all.filter((path) => path.endsWith("/README.md"));
  assert.ok(readmes.length >= 20, `only ${readmes.length} READMEs found`);
  const gone = readmes.flatMap((path) =>
    codeWords(readFileSync(join(root, path), "utf8"))
      .filter((word) => !known.has(word))
      .map((word) => `${path}: ${word}`),
  );
  assert.deepEqual(gone, []);
  assert.deepEqual(codeWords("`schemaOf(x)` and `plain` and `WatchCache`"), [
    "schemaOf",
    "WatchCache",
  ]);
});

test("every link and path of a document leads to a file", () => {
  const all = documents(root);
  assert.ok(all.length > 40, `only ${all.length} documents found`);
  const dead = all.flatMap((file) =>
    deadNames(readFileSync(file, "utf8"), dirname(file)).map(
      (name) => `${relative(root, file)}: ${name}`,
    ),
  );
  assert.deepEqual(dead, []);
});

test("a link and a path that lead nowhere are found", () => {
  const text =
    "[a](gone.md) [b](README.md#x) [c](https://example.com/gone) `src/gone/a.ts` `#gone/b.ts`";
  assert.deepEqual(deadNames(text, root), ["gone.md", "src/gone/a.ts", "#gone/b.ts"]);
});

test("each decision record has a number of its own, in its name and its title, and says whose wish it follows", () => {
  const folder = join(root, "docs", "adr");
  const records = readdirSync(folder).filter((name) => name.endsWith(".md"));
  const numbers = records.map((name) => name.slice(0, "0000".length));
  assert.deepEqual(numbers, [...new Set(numbers)]);
  for (const name of records) {
    const text = readFileSync(join(folder, name), "utf8");
    assert.equal(
      Number(/^# (\d+)[:.] /.exec(text)?.[1]),
      Number(name.slice(0, "0000".length)),
      name,
    );
    // By whom? A goal of this project says so.
    assert.doesNotMatch(
      text,
      /\b(?:were|was|is) asked\b(?! for)|\bAsked (?:is|are|was|were)\b|\bDESIGN\b/,
      name,
    );
  }
});
