/**
 * Which files a run is about: those that are named, or those that a change can have broken.
 *
 * A change reaches, inside of its room, every file that imports it, directly or not; outside, the files that import one of those.
 * What lies further away sees the room through them, and is for `npm test`.
 */
import { importedPath, roomOf } from "./rooms.mjs";

/** `names`: rooms, folders or files. Throws on one that names no file. */
export function namedFiles(files, names, folders) {
  const chosen = new Set(names.flatMap((name) => filesOf(files, name, folders)));
  return files.filter((path) => chosen.has(path));
}

function filesOf(files, name, folders) {
  const path = (folders.get(name) ?? name).replace(/^\.\//, "").replace(/\/$/, "");
  const found = files.filter((file) => file === path || file.startsWith(`${path}/`));
  if (found.length > 0) return found;
  throw new Error(
    `no tests in "${name}": name a room (${[...folders.keys()].join(", ")}), a folder or a file`,
  );
}

/** `sources`: path and text of every source; `changed`: paths. Returns `changed` and what it reaches, tests included. */
export function reachedBy(changed, sources, folders) {
  const importers = importersOf(sources, folders);
  const inside = new Set(changed);
  for (const path of inside) {
    const room = roomOf(folders, path);
    for (const importer of importers.get(path) ?? [])
      if (roomOf(folders, importer) === room) inside.add(importer);
  }
  const reached = new Set(inside);
  for (const path of inside)
    for (const importer of importers.get(path) ?? []) reached.add(importer);
  return [...reached].toSorted();
}

/** The tests among them, and those that lie beside one of them. */
export function testsOf(reached, files) {
  const beside = new Set(reached.map((path) => path.replace(/(\.test)?\.ts$/, ".test.ts")));
  return files.filter((path) => beside.has(path));
}

function importersOf(sources, folders) {
  const importers = new Map();
  for (const { path, text } of sources) {
    for (const [, specifier] of text.matchAll(/(?:from|import|import\(|URL\()\s*"([#.][^"]+)"/g)) {
      const target = importedPath(folders, path, specifier);
      const known = importers.get(target);
      if (known === undefined) importers.set(target, [path]);
      else known.push(path);
    }
  }
  return importers;
}
