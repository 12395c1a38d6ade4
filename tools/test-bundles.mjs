/**
 * Joins the tests of a room into one file, so that a room's modules are loaded once instead of once per test file.
 * Measured: 17 rooms take 61 s of CPU so, 118 s with a process for each of their 230 files.
 *
 * Rooms whose tests watch the process itself (memory, signals, child processes) keep a process per file.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { roomFolders, roomOf } from "./rooms.mjs";

const ownProcess = new Set(["platform", "cmd", "sim"]);

/** A hook outside of a suite would run for the tests of every file of the bundle. */
const rootHook = /^(before|after|beforeEach|afterEach)\(/m;

/** `files` are paths from `root`. Returns the files to run in their place, bundles first. */
export function bundleTests(root, files) {
  const folder = join(root, ".cache", "test-bundles");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const folders = roomFolders(root);
  const roomed = files.map((path) => ({ path, room: bundleOf(root, folders, path) }));
  const rooms = new Set(roomed.map(({ room }) => room));
  rooms.delete("");
  const pathsOf = (wanted) => roomed.filter(({ room }) => room === wanted).map(({ path }) => path);
  const bundles = [...rooms].map((room) => {
    const paths = pathsOf(room);
    return paths.length === 1 ? paths[0] : writeBundle(root, folder, room, paths);
  });
  return [...bundles, ...pathsOf("")];
}

/** The room whose bundle takes the file; empty for a file that runs alone. */
function bundleOf(root, folders, path) {
  const room = roomOf(folders, path);
  if (ownProcess.has(room)) return "";
  return rootHook.test(readFileSync(join(root, path), "utf8")) ? "" : room;
}

function writeBundle(root, folder, room, paths) {
  const target = join(folder, `${room}.test.mjs`);
  const urls = paths.map((path) => pathToFileURL(join(root, path)).href);
  writeFileSync(target, urls.map((url) => `await import(${JSON.stringify(url)});\n`).join(""));
  return relative(root, target);
}
