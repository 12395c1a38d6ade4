/** An install needs no home folder that can be written. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
// Plain JavaScript: it runs before there is a compiler.
const { withNpmCache } = (await import("./npm-cache.mjs" as string)) as {
  withNpmCache: <T>(env: NodeJS.ProcessEnv, install: (env: NodeJS.ProcessEnv) => T) => T;
};

const directory = mkdtempSync(join(tmpdir(), "pilothouse-npm-cache-"));
after(() => rmSync(directory, { recursive: true }));

test("a cache folder that can be written is npm's own", () => {
  const env = { npm_config_cache: join(directory, "home", ".npm") };
  assert.equal(
    withNpmCache(env, (given) => given),
    env,
  );
});

test("where it cannot, npm gets a temporary one, which is gone after the install", () => {
  // Below a file no folder can be made, not even by root.
  const file = join(directory, "file");
  writeFileSync(file, "");
  const env = { npm_config_cache: join(file, ".npm"), PATH: "/bin" };
  const used = withNpmCache(env, (given) => {
    writeFileSync(join(given["npm_config_cache"] ?? "", "download"), "");
    return given;
  });
  assert.equal(used["PATH"], "/bin");
  assert.notEqual(used["npm_config_cache"], env.npm_config_cache);
  assert.equal(existsSync(used["npm_config_cache"] ?? ""), false);
});
