/**
 * package-lock.json is whole: `npm ci` takes it on every platform, whichever wrote it.
 *
 * npm leaves the packages of other platforms out of the lock when the registry that it asked did not have them; then `npm ci`
 * refuses the lock everywhere.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lock = new URL("../package-lock.json", import.meta.url);
const { packages } = JSON.parse(readFileSync(lock, "utf8")) as {
  readonly packages: Readonly<Record<string, Locked>>; // npm's own file
};

test("every package that another one needs is in the lock, of every platform", () => {
  const missing = Object.entries(packages).flatMap(([path, locked]) =>
    Object.keys({ ...locked.dependencies, ...locked.optionalDependencies })
      .filter((name) => lockedFor(path, name) === undefined)
      .map((name) => `${path} needs ${name}`),
  );
  assert.deepEqual(missing, []);
});

test("a package is named by its checksum, and by no address of a registry", () => {
  for (const [path, { version, resolved, integrity }] of Object.entries(packages)) {
    if (path === "") continue;
    assert.ok(version !== undefined && integrity?.startsWith("sha512-"), path);
    assert.equal(resolved, undefined, path);
  }
});

test("no package asks for a newer Node than the oldest that installs them", () => {
  const oldest = Number(/\d+/.exec(packages[""]?.engines?.["node"] ?? "")?.[0]);
  for (const [path, { engines = {} }] of Object.entries(packages)) {
    const majors = (engines["node"] ?? "*").split("||").map((range) => range.trim());
    assert.ok(
      majors.some((range) => isAtMost(range, oldest)),
      `${path} wants Node ${engines["node"]}`,
    );
  }
});

/** npm's search: the folder of the package itself, then those above it. */
function lockedFor(path: string, name: string): Locked | undefined {
  for (
    let folder = path;
    ;
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))
  ) {
    const found =
      packages[folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`];
    if (found !== undefined || folder === "") return found;
  }
}

/** `^20.19.0`, `>=20.18.1`, `20.x`, `*`: the first major version named is where the range begins. */
function isAtMost(range: string, major: number): boolean {
  const from = Number(/\d+/.exec(range)?.[0] ?? 0);
  return range.startsWith("^") ? from === major : from <= major;
}
