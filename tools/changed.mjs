/** What `npm run check -- --changed` looks at: the files that differ from a commit, and those that import them. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { reachedBy, testsOf } from "./choose.mjs";
import { roomFolders } from "./rooms.mjs";

const isSource = (path) => /^(src|tools|test)\/.*\.(ts|mjs)$/.test(path);

/**
 * `since`: a branch or commit; HEAD when undefined. A branch is compared from where this one left it.
 *
 * The files to lint and to format; `tests` chooses among all test files. Tests of whole processes are for `npm test`, but
 * for those that are themselves changed.
 */
export function changedScope(root, since = "HEAD") {
  const changed = changedFiles(root, since).filter(isSource);
  const reached = reachedBy(changed, sourcesOf(root), roomFolders(root));
  console.log(
    `changed since ${since}: ${changed.length} sources; with their importers ${reached.length}`,
  );
  const isRun = (path) => !path.startsWith("test/") || changed.includes(path);
  // The rules for all files are a second's work and see what no importer does.
  const rules = (path) => /^tools\/(tidy|links|pure)[a-z-]*\.test\.ts$/.test(path);
  return {
    linted: reached,
    formatted: changed,
    tests(files) {
      const tests = testsOf(reached, files).filter(isRun);
      return files.filter((path) => rules(path) || tests.includes(path));
    },
  };
}

function changedFiles(root, since) {
  const base = git(root, ["merge-base", since, "HEAD"]).trim();
  const tracked = git(root, ["diff", "--name-only", "-z", base]);
  const added = git(root, ["ls-files", "--others", "--exclude-standard", "-z"]);
  const paths = `${tracked}${added}`.split("\0").filter(Boolean);
  return paths.filter((path) => existsSync(join(root, path)));
}

function git(root, args) {
  const { status, stdout, stderr } = spawnSync("git", args, { cwd: root, encoding: "utf8" });
  if (status === 0) return stdout;
  console.error(`check --changed: git ${args.join(" ")}: ${stderr.trim()}`);
  process.exit(2);
}

function sourcesOf(root) {
  return ["src", "tools", "test"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .map((path) => `${folder}/${path.replaceAll("\\", "/")}`)
      .filter(isSource)
      .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") })),
  );
}
