/**
 * Tidy: the rules of the house that no compiler checks, as pure functions of a file's path and text.
 *
 * `tidy.test.ts` runs them over the tree and plants one breach per rule to prove that each bites.
 * The formatter has run before, so indentation tells structure; no parser is needed.
 */
import { folderOf, layers } from "./layers.ts";

export interface SourceFile {
  /** From the repository's root, forward slashes: `src/commit/store/log.ts`. */
  readonly path: string;
  readonly text: string;
}

export interface Finding {
  readonly rule: RuleName;
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

export type RuleName =
  | "edge"
  | "testing"
  | "sim"
  | "relative"
  | "pure"
  | "name"
  | "header"
  | "file-length"
  | "function-length"
  | "todo"
  | "word"
  | "default-export"
  | "unbounded"
  | "inherited"
  | "charged"
  | "idiom";

/** Longer files and functions must say why: `// long: <reason>` in the file, or above the function. */
const fileLinesMax = 600;
const functionLinesMax = 70;

const bannedNames = /(^|\/)(utils?|common|types|helpers?|misc|index|mod)(\/|\.ts$)/;
/** Places of a machine; written so that this line does not name them itself. */
const bannedWords = /[/](work|farm)[/]|[/]tmp[/]bash|bash[_]jobs|[.]library[/]/;

/** Phrases that a reader must read twice. */
const idioms =
  /\b[Ww]hoever\b|\b(is|are|was|were) told\b(?! (apart|by|from)\b)|\bthat is none\b|\bis brought\b|\b(of|in|after|to) so many\b/;

/** What a pure room must take as an argument instead. Tests may use the host. */
const ambient: readonly [RegExp, string][] = [
  [/from "node:/, "node: import"],
  [/\bDate\.now\(|new Date\(\)|performance\.now\(/, "ambient clock"],
  [/\b(setTimeout|setInterval|setImmediate)\(/, "ambient timer"],
  [/\bMath\.random\(|crypto\.(randomUUID|getRandomValues)/, "ambient randomness"],
  [/\bprocess\.(env|argv|exit|on|hrtime|nextTick|memoryUsage|stdout|stderr)/, "ambient process"],
  [/\bconsole\.(log|error|warn|info)\(/, "console"],
];

export function tidy(file: SourceFile): readonly Finding[] {
  const lines = file.text.split("\n");
  return [
    ...nameFindings(file),
    ...headerFindings(file, lines),
    ...fileLengthFindings(file, lines),
    ...functionLengthFindings(file, lines),
    ...lineFindings(file, lines),
    ...inheritedFindings(file, lines),
    ...importFindings(file, lines),
    ...chargedFindings(file, lines),
    ...fakeWorldFindings(file, lines),
  ];
}

/** `src/commit/store/engines/local/engine.ts` is of room `store`; files outside src are of no room. */
export function roomOf(path: string): string | undefined {
  return /^src\/[^/]+\/([^/]+)\//.exec(path)?.[1];
}

function nameFindings(file: SourceFile): Finding[] {
  if (!bannedNames.test(file.path)) return [];
  return [{ rule: "name", path: file.path, line: 1, message: "a name that says nothing" }];
}

function headerFindings(file: SourceFile, lines: readonly string[]): Finding[] {
  const first = lines[0]?.startsWith("#!") ? lines[1] : lines[0];
  if (first?.startsWith("/**") || first?.startsWith("//")) return [];
  return [{ rule: "header", path: file.path, line: 1, message: "no header comment" }];
}

function fileLengthFindings(file: SourceFile, lines: readonly string[]): Finding[] {
  if (isTest(file.path) || lines.length <= fileLinesMax || hasReason(lines.slice(0, 40))) return [];
  const message = `${lines.length} lines, limit ${fileLinesMax}`;
  return [{ rule: "file-length", path: file.path, line: 1, message }];
}

function functionLengthFindings(file: SourceFile, lines: readonly string[]): Finding[] {
  if (isTest(file.path)) return [];
  return lines.flatMap((line, at) => {
    const indent = functionIndent(line);
    if (indent === undefined) return [];
    const length = blockLength(lines, at, indent);
    if (length <= functionLinesMax || hasReason(lines.slice(Math.max(0, at - 12), at + 2)))
      return [];
    const message = `function of ${length} lines, limit ${functionLinesMax}`;
    return [{ rule: "function-length" as const, path: file.path, line: at + 1, message }];
  });
}

/** Indentation of a line that opens a function or method body, else undefined. */
function functionIndent(line: string): number | undefined {
  const isFunction =
    /^\s*(export )?(async )?function\*? /.test(line) ||
    /^ {2}(static |async |get |set |#)*[#a-zA-Z_]\w*\([^=]*$/.test(line) ||
    /^(export )?const \w+ = (async )?\(/.test(line);
  const isStatement = /^\s*(if|for|while|switch|return|await|case|expect|assert)\b/.test(line);
  return isFunction && !isStatement ? line.search(/\S/) : undefined;
}

function blockLength(lines: readonly string[], start: number, indent: number): number {
  const closing = new RegExp(`^ {${indent}}\\}`);
  for (let at = start + 1; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (closing.test(line)) return at - start + 1;
    if (line !== "" && line.search(/\S/) < indent) return 0;
    if (line.search(/\S/) === indent && !/^\s*[)}]/.test(line)) return 0;
  }
  return 0;
}

function lineFindings(file: SourceFile, lines: readonly string[]): Finding[] {
  const room = roomOf(file.path);
  const pure = room !== undefined && layers[room]?.pure === true && !isTest(file.path);
  const isExample = file.path.startsWith("tools/tidy");
  return lines.flatMap((line, at) => {
    const found: Finding[] = [];
    const add = (rule: RuleName, message: string): void => {
      found.push({ rule, path: file.path, line: at + 1, message });
    };
    if (pure) for (const [pattern, what] of ambient) if (inCode(line, pattern)) add("pure", what);
    if (isExample) return found;
    if (/\bFIXME\b|\bXXX\b|\bHACK\b/.test(line)) add("todo", "never lands");
    if (/\bTODO\b(?!\(#\d+\))/.test(line)) add("todo", "TODO without an issue");
    if (bannedWords.test(line)) add("word", "names a place outside the project");
    if (isComment(line) && idioms.test(line)) add("idiom", "say it plainly: subject, verb, object");
    if (line.startsWith("export default ")) add("default-export", "named exports only");
    if (/(Max|Limit|Bytes)\w*\s*[:=]\s*(Number\.POSITIVE_)?Infinity\b/.test(line)) {
      add("unbounded", "a limit that is none");
    }
    return found;
  });
}

function isComment(line: string): boolean {
  return /^\s*(\/\*\*|\*|\/\/)/.test(line);
}

function inCode(line: string, pattern: RegExp): boolean {
  const trimmed = line.trimStart();
  return !trimmed.startsWith("*") && !trimmed.startsWith("//") && pattern.test(line);
}

/**
 * What is held for a caller is charged to the caller (`#platform/ledger.ts`): bodies cannot be read and lists not
 * made without a Holding, and the one that charges nothing needs a reason. A listener outside of `cmd` would be
 * a door past the chain and the router that charge answers.
 * `// uncharged: why` on the line of the import or the one before.
 */
function chargedFindings(file: SourceFile, lines: readonly string[]): Finding[] {
  const room = roomOf(file.path);
  if (room === undefined || isTest(file.path) || isForTests(file.path)) return [];
  const imports = /^import (?:type )?\{([^}]*)\} from "([^"]+)"/gm;
  const found: Finding[] = [];
  for (const match of file.text.matchAll(imports)) {
    const [, names = "", target = ""] = match;
    const message = chargedFault(room, names, target);
    if (message === undefined) continue;
    const at = file.text.slice(0, match.index).split("\n").length - 1;
    if ([lines[at - 1], lines[at]].some((line) => line?.includes("// uncharged:"))) continue;
    found.push({ rule: "charged", path: file.path, line: at + 1, message });
  }
  return found;
}

function chargedFault(room: string, names: string, target: string): string | undefined {
  if (target.endsWith("/ledger.ts") && /\buncharged\b/.test(names))
    return "charge it to its caller, or say `// uncharged: why`";
  if (target.endsWith("/http/http.ts") && room !== "cmd" && /\blisten\b/.test(names))
    return "answers of a listener must come from the chain or the router, which charge them";
  return undefined;
}

/**
 * A literal that is indexed by a name from outside answers `constructor` with what it inherits, and a
 * table that is filled loses `__proto__`. Reads go through `ownEntry`; tables that are filled are
 * `dictionary()`s or Maps. `// own keys: why` on the line or the one before: no client chooses the key.
 */
function inheritedFindings(file: SourceFile, lines: readonly string[]): Finding[] {
  if (roomOf(file.path) === undefined || isTest(file.path) || isForTests(file.path)) return [];
  const tables = new Map<string, "full" | "empty">();
  for (const [, name = "", body] of file.text.matchAll(tableDeclaration)) {
    tables.set(name, body === "}" ? "empty" : "full");
  }
  return lines.flatMap((line, at) =>
    hasOwnKeys(lines, at)
      ? []
      : inheritedIn(line, tables).map((message) => ({
          rule: "inherited" as const,
          path: file.path,
          line: at + 1,
          message,
        })),
  );
}

/** `const name: Readonly<Record<string, T>> = {`, with what follows the brace when that closes it. */
const tableDeclaration =
  /\bconst (\w+): (?:Readonly<|Partial<)*Record<string,(?:[^;=]|=>)*? = (?:Object\.freeze\()?\{(\}?)/g;

function inheritedIn(line: string, tables: ReadonlyMap<string, "full" | "empty">): string[] {
  if (!inCode(line, /\[/)) return [];
  const found: string[] = [];
  for (const [, name = "", key = "", rest = ""] of line.matchAll(indexed)) {
    const table = tables.get(name);
    if (table === undefined || /^(["'`][^$]*["'`]|\d+)$/.test(key.trim())) continue;
    const isWrite = /^\s*(\?\?|\+|\|\|)?=(?!=)/.test(rest);
    if (isWrite && table === "empty")
      found.push(`${name} is filled by names: make it a dictionary()`);
    else if (!isWrite) found.push(`${name} is indexed by a name: ownEntry(${name}, ...) or a Map`);
  }
  return found;
}

const indexed = /(?<![\w.#])(\w+)\[([^\][]*(?:\[[^\]]*\][^\][]*)*)\](?=(.{0,4}))/g;

function hasOwnKeys(lines: readonly string[], at: number): boolean {
  return [lines[at - 1], lines[at]].some((line) => line?.includes("// own keys:") === true);
}

function isForTests(path: string): boolean {
  return /\/testing\/|testing\.ts$|^src\/run\/sim\//.test(path);
}

/**
 * Fakes are for tests: production code imports no `testing` folder, and sim only the fake world it runs on.
 * That world is below all rooms (`src/core/platform/testing`), so no other room's tests need sim.
 */
function fakeWorldFindings(file: SourceFile, lines: readonly string[]): Finding[] {
  const room = roomOf(file.path);
  if (room === undefined) return [];
  const isProduct = !isTest(file.path) && !isForTests(file.path);
  return lines.flatMap((line, at): Finding[] => {
    const target = importedBy(line);
    if (target === undefined) return [];
    const add = (rule: RuleName, message: string): Finding[] => [
      { rule, path: file.path, line: at + 1, message },
    ];
    if (room !== "sim" && target.startsWith("#sim/")) {
      return add("sim", `the fake world is in #platform/testing, not ${target}`);
    }
    if (!/\/testing(\/|\.ts$)/.test(target)) return [];
    if (isProduct) return add("testing", `${target} is for tests`);
    const isSimulator = room === "sim" && !isTest(file.path);
    if (!isSimulator || target.startsWith("#platform/testing/")) return [];
    return add("testing", `sim imports #platform/testing only, not ${target}`);
  });
}

/** What a line imports from this repository, else undefined. */
function importedBy(line: string): string | undefined {
  return (
    /(?:from|import\() ?"([#.][^"]+)"/.exec(line)?.[1] ?? /^import "([#.][^"]+)"/.exec(line)?.[1]
  );
}

function importFindings(file: SourceFile, lines: readonly string[]): Finding[] {
  const room = roomOf(file.path);
  if (room === undefined) return [];
  const allowed = layers[room]?.mayImport;
  return lines.flatMap((line, at): Finding[] => {
    const specifier = importedBy(line);
    if (specifier === undefined) return [];
    const message = importFault(file, room, allowed, specifier);
    if (message === undefined) return [];
    const rule = specifier.startsWith("#") ? "edge" : "relative";
    return [{ rule, path: file.path, line: at + 1, message }];
  });
}

function importFault(
  file: SourceFile,
  room: string,
  allowed: readonly string[] | undefined,
  specifier: string,
): string | undefined {
  if (allowed === undefined) return `room ${room} is not in the layer table`;
  if (!specifier.startsWith("#")) return relativeFault(file.path, room, specifier);
  const target = specifier.slice(1).split("/")[0] ?? "";
  if (target === room) return `inside a room say ./x.ts, not ${specifier}`;
  if (isTest(file.path) || allowed.includes(target)) return undefined;
  return `${room} may not import ${target} (tools/layers.ts)`;
}

function relativeFault(path: string, room: string, specifier: string): string | undefined {
  const folder = path.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") folder.pop();
    else if (part !== ".") folder.push(part);
  }
  const isInside = `${folder.join("/")}/`.startsWith(`${folderOf(room)}/`);
  return isInside ? undefined : `${specifier} leaves room ${room}`;
}

function isTest(path: string): boolean {
  return (
    path.startsWith("test/") ||
    path.endsWith(".test.ts") ||
    path.endsWith(".bench.ts") ||
    path.includes("/testing/")
  );
}

function hasReason(lines: readonly string[]): boolean {
  return lines.some((line) => /(\/\/|\*) long: \S/.test(line));
}
