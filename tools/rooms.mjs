/** Where the rooms are. `imports` of package.json is the one list of them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Room to folder: `watch` to `src/watch`. */
export function roomFolders(root) {
  const { imports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return new Map(
    Object.entries(imports).map(([name, target]) => [
      name.slice("#".length, -"/*".length),
      target.slice("./".length, -"/*".length),
    ]),
  );
}

/** The room that a file belongs to; empty outside of the rooms. */
export function roomOf(folders, path) {
  for (const [room, folder] of folders) if (path.startsWith(`${folder}/`)) return room;
  return "";
}

/** `#watch/cache.ts` in any file, `./cache.ts` in `src/watch/ring.ts`: `src/watch/cache.ts`. */
export function importedPath(folders, from, specifier) {
  if (!specifier.startsWith("#")) return new URL(specifier, `file:///${from}`).pathname.slice(1);
  const [room = "", ...rest] = specifier.slice(1).split("/");
  return [folders.get(room) ?? room, ...rest].join("/");
}
