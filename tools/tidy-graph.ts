/**
 * Tidy across files: exports that nobody uses, and import cycles, as pure functions of all paths and texts.
 *
 * An export is for the files that import it. Without one it is un-exported or deleted; what only tests
 * import lives in a `testing` folder or stands in `tidy-permits.ts` with a reason. `import type` counts:
 * two files that need each other's types are read as one, so they are one, or a third file has the types.
 */
import { posix } from "node:path";
import { pathOfImport } from "./layers.ts";
import type { SourceFile } from "./tidy.ts";

export type GraphRule = "unused-export" | "test-only-export" | "stale-permit" | "cycle";

export interface GraphFinding {
  readonly rule: GraphRule;
  readonly path: string;
  readonly message: string;
}

export interface Permits {
  /** Files whose exports are for programs outside of the tree. */
  readonly entryPoints: readonly string[];
  /** By reason, the exports only tests import: `src/a/b.ts name`. */
  readonly testOnly: Readonly<Record<string, readonly string[]>>;
  /** Each the files of one cycle, sorted, joined by a space. */
  readonly cycles: readonly string[];
}

interface Import {
  readonly from: string;
  readonly target: string;
  /** `*`: every name. */
  readonly names: readonly string[];
}

/** `files`: the whole tree, generated code and launchers (.mjs) included, because they import too. */
export function tidyGraph(files: readonly SourceFile[], permits: Permits): readonly GraphFinding[] {
  const imports = files.flatMap(importsOf);
  return [...exportFindings(files, imports, permits), ...cycleFindings(imports, permits)];
}

function importsOf(file: SourceFile): Import[] {
  const named = [...file.text.matchAll(/^(?:import|export) ([^;"]*?) ?from "([#.][^"]+)"/gm)].map(
    ([, clause = "", specifier = ""]) => importOf(file, specifier, namesOf(clause)),
  );
  const whole = [
    ...file.text.matchAll(/import\(\s*"([#.][^"]+)"/g),
    ...file.text.matchAll(/new URL\(\s*"(\.[^"]+\.ts)"/g),
    ...file.text.matchAll(/^import "([#.][^"]+)"/gm),
  ].map(([, specifier = ""]) => importOf(file, specifier, ["*"]));
  return [...named, ...whole];
}

function importOf(file: SourceFile, specifier: string, names: readonly string[]): Import {
  const target = specifier.startsWith("#")
    ? pathOfImport(specifier)
    : posix.join(posix.dirname(file.path), specifier);
  return { from: file.path, target, names };
}

/** `type { a, type b as c }` -> a, b. */
function namesOf(clause: string): readonly string[] {
  const list = /\{([^}]*)\}/.exec(clause)?.[1];
  if (list === undefined) return ["*"];
  return list
    .split(",")
    .map(
      (part) =>
        part
          .trim()
          .replace(/^type /, "")
          .split(" as ")[0] ?? "",
    )
    .filter((name) => name !== "");
}

interface Export {
  readonly name: string;
  readonly isType: boolean;
}

/** Functions, classes, constants and types that are declared where they are exported. */
function exportsOf(file: SourceFile): Export[] {
  const declared =
    /^export (?:declare |async |abstract )*(function\*?|class|const|let|interface|type) (\w+)/gm;
  return [...file.text.matchAll(declared)].map(([, keyword = "", name = ""]) => ({
    name,
    isType: keyword === "interface" || keyword === "type",
  }));
}

function exportFindings(
  files: readonly SourceFile[],
  imports: readonly Import[],
  permits: Permits,
): GraphFinding[] {
  const users = usersOf(imports);
  const usersOfName = (path: string, name: string): readonly string[] => [
    ...(users.get(`${path} ${name}`) ?? []),
    ...(users.get(`${path} *`) ?? []),
  ];
  const unclaimed = new Set(Object.values(permits.testOnly).flat());
  const found: GraphFinding[] = [];
  for (const file of files) {
    if (!isLookedAt(file.path, permits)) continue;
    for (const { name, isType } of exportsOf(file)) {
      const by = usersOfName(file.path, name);
      if (by.length === 0) {
        const message = `no file imports ${name}: delete it, or its "export"`;
        found.push({ rule: "unused-export", path: file.path, message });
      } else if (!isType && !isForTests(file.path) && by.every(isForTests)) {
        if (unclaimed.delete(`${file.path} ${name}`)) continue;
        const message = `only tests import ${name}: delete it, move it to testing/, or say why`;
        found.push({ rule: "test-only-export", path: file.path, message });
      }
    }
  }
  return [...found, ...[...unclaimed].map(staleFinding)];
}

function usersOf(imports: readonly Import[]): ReadonlyMap<string, readonly string[]> {
  const users = new Map<string, string[]>();
  for (const { from, target, names } of imports) {
    for (const name of names) {
      const key = `${target} ${name}`;
      const known = users.get(key);
      if (known === undefined) users.set(key, [from]);
      else known.push(from);
    }
  }
  return users;
}

function staleFinding(entry: string): GraphFinding {
  const message = `${entry} is permitted, but is used or gone: strike it out`;
  return { rule: "stale-permit", path: "tools/tidy-permits.ts", message };
}

function isLookedAt(path: string, { entryPoints }: Permits): boolean {
  if (!path.startsWith("src/") || path.includes("/gen/") || !path.endsWith(".ts")) return false;
  return !entryPoints.includes(path);
}

/** The simulation is a program like any other (`npm run sim`): it counts as a user. */
function isForTests(path: string): boolean {
  return (
    path.startsWith("test/") ||
    /\.(test|bench)\.ts$/.test(path) ||
    path.includes("/testing/") ||
    path.endsWith("/testing.ts")
  );
}

function cycleFindings(imports: readonly Import[], { cycles }: Permits): GraphFinding[] {
  const found = cyclesOf(imports).map((files) => files.join(" "));
  const fresh = found.filter((cycle) => !cycles.includes(cycle));
  const stale = cycles.filter((cycle) => !found.includes(cycle));
  return [
    ...fresh.map((cycle) => ({
      rule: "cycle" as const,
      path: cycle.split(" ")[0] ?? "",
      message: `these files import each other, types counted: ${cycle}`,
    })),
    ...stale.map(staleFinding),
  ];
}

/** Strongly connected files, each group sorted: Tarjan's algorithm. */
function cyclesOf(imports: readonly Import[]): readonly (readonly string[])[] {
  const targets = targetsOf(imports);
  const order = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (path: string): number => {
    const at = order.size;
    order.set(path, at);
    stack.push(path);
    let low = at;
    for (const target of targets.get(path) ?? []) {
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (stack.includes(target)) low = Math.min(low, order.get(target) ?? at);
    }
    if (low === at) {
      const group = stack.splice(stack.indexOf(path));
      if (group.length > 1) cycles.push(group.sort());
    }
    return low;
  };
  for (const path of targets.keys()) if (!order.has(path)) visit(path);
  return cycles;
}

function targetsOf(imports: readonly Import[]): ReadonlyMap<string, ReadonlySet<string>> {
  const targets = new Map<string, Set<string>>();
  for (const { from, target } of imports) {
    const known = targets.get(from);
    if (known === undefined) targets.set(from, new Set([target]));
    else known.add(target);
  }
  return targets;
}
