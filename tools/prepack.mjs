/**
 * Makes dist/ for the published package: types stripped, imports made relative, declarations beside.
 *
 * Stripping keeps every line where it was, so stack traces of a release name the lines of src.
 * `node tools/prepack.mjs DIRECTORY` writes there instead: tests build without a dist/ in the clone.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { hostMajorMin, pinnedNode } from "./node-path.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const dist = resolve(process.argv[2] ?? join(root, "dist"));
const { imports: rooms } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** What other projects' tests use (`pilothouse/client/testing`). */
const testKit = new Set([
  "crowd/client/testing/test-tools.ts",
  "core/platform/testing/clock.ts",
  "core/platform/testing/random.ts",
]);

if (Number(process.versions.node.split(".")[0]) < hostMajorMin) runPinned();
else await pack();

function runPinned() {
  const result = spawnSync(pinnedNode(root), [fileURLToPath(import.meta.url), dist], {
    stdio: "inherit",
  });
  process.exit(result.status ?? 1);
}

async function pack() {
  const { stripTypeScriptTypes } = await import("node:module");
  process.removeAllListeners("warning");
  rmSync(dist, { recursive: true, force: true });
  for (const path of shipped()) {
    const target = join(dist, path);
    mkdirSync(dirname(target), { recursive: true });
    if (!path.endsWith(".ts")) cpSync(join(root, "src", path), target);
    else {
      const code = stripTypeScriptTypes(readFileSync(join(root, "src", path), "utf8"), {
        mode: "strip",
      });
      writeFileSync(target.replace(/\.ts$/, ".js"), relink(code, path, ".js"));
    }
  }
  declarations();
}

/** Source files of the product: no tests, no benchmarks, no simulator. */
function shipped() {
  return readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      relative(join(root, "src"), join(entry.parentPath, entry.name)).replaceAll("\\", "/"),
    )
    .filter((path) => /\.(ts|json|txt|gz|bin)$/.test(path))
    .filter(
      (path) =>
        testKit.has(path) || !/\.(test|bench)\.ts$|\/testing\/|\/testdata\/|^run\/sim\//.test(path),
    );
}

/** `#room/file.ts` and `./file.ts` become relative paths that end in `extension`. */
function relink(code, path, extension) {
  return code.replace(
    /(from\s+|import\s*\(\s*|import\s+|new URL\()"([#.][^"]*)\.ts"/g,
    (_all, head, specifier) => {
      const target = specifier.startsWith("#")
        ? pathInSrc(specifier)
        : posix.join(posix.dirname(path), specifier);
      const link = posix.relative(posix.dirname(path), target);
      return `${head}"${link.startsWith(".") ? link : `./${link}`}${extension}"`;
    },
  );
}

/** `#store/open` -> `commit/store/open`, as `imports` of package.json says. */
function pathInSrc(specifier) {
  const [room, ...rest] = specifier.split("/");
  return posix.join(rooms[`${room}/*`].replace("./src/", "").replace("*", ""), ...rest);
}

function declarations() {
  const tsc = join(root, "node_modules", ".bin", "tsc");
  const out = join(dist, ".declarations");
  rmSync(out, { recursive: true, force: true });
  const args = [
    "-p",
    root,
    "--noEmit",
    "false",
    "--declaration",
    "--emitDeclarationOnly",
    "--outDir",
    out,
  ];
  const result = spawnSync(tsc, args, { stdio: "inherit" });
  if (result.status !== 0) process.exit(1);
  for (const path of shipped().filter((name) => name.endsWith(".ts"))) {
    const text = readFileSync(join(out, "src", path.replace(/\.ts$/, ".d.ts")), "utf8");
    writeFileSync(join(dist, path.replace(/\.ts$/, ".d.ts")), relink(text, path, ".js"));
  }
  rmSync(out, { recursive: true });
}
