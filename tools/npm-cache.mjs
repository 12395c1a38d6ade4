/**
 * Where npm keeps its downloads during an install: its own folder, or a temporary one where a home folder
 * cannot be written (a container's user, a CI job), which npm alone ends with EACCES.
 */
import { accessSync, constants, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

/** Runs `install` with the environment npm needs; the temporary folder, if any, is gone after it. */
export function withNpmCache(env, install) {
  // Set by npm for the scripts it runs; absent when the bootstrap is run by hand.
  const cache = env.npm_config_cache ?? join(homedir(), ".npm");
  if (isWritable(cache)) return install(env);
  const temporary = mkdtempSync(join(tmpdir(), "pilothouse-npm-"));
  console.log(`pilothouse: npm's cache folder ${cache} cannot be written; a temporary one is used`);
  try {
    return install({ ...env, npm_config_cache: temporary });
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

function isWritable(folder) {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
