/**
 * Reporter of the test runs: a dot per test, the failures in full, then every skipped test by its reason,
 * and a last line with the three counts. The built-in dot reporter prints no skip at all.
 *
 * A skipped suite counts once: its tests were never made.
 */
import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { dot } from "node:test/reporters";

/** Of one reason; a missing folder of samples skips hundreds. */
const namesMax = 8;
/** A file that takes this long is named: it is where a run's minutes go. */
const slowMs = 10_000;
const slowFilesMax = 12;

// oxlint-disable-next-line import/no-default-export -- node:test takes a reporter from there.
export default async function* report(source) {
  const seen = {
    passed: 0,
    failed: 0,
    failedFiles: new Set(),
    skipped: new Map(),
    skippedFiles: new Set(),
    slow: [],
  };
  yield* dot(noted(source, seen));
  yield summary(seen);
  writeLists(seen);
}

/** Where `npm test` looks for what to run again, and CI for what a machine with more programs has to run. */
function writeLists({ failedFiles, skippedFiles }) {
  const folder = process.env.PILOTHOUSE_TEST_LISTS;
  if (folder === undefined) return;
  for (const [name, files] of Object.entries({ failed: failedFiles, skipped: skippedFiles }))
    writeFileSync(
      join(folder, name),
      [...files]
        .toSorted()
        .map((file) => `${file}\n`)
        .join(""),
    );
}

async function* noted(source, seen) {
  for await (const event of source) {
    note(event, seen);
    yield event;
  }
}

function note({ type, data }, seen) {
  if (type === "test:summary") return noteTime(data, seen.slow);
  if (type === "test:fail") seen.failedFiles.add(nameOfFile(data));
  if (type === "test:pass" && isSkipped(data)) return noteSkip(data, seen);
  if (data?.details?.type === "suite") {
    // A suite fails with its tests, which are counted; or in its own hooks, which nothing else tells.
    if (type === "test:fail" && !isOfItsTests(data)) seen.failed++;
    return;
  }
  if (type === "test:pass") seen.passed++;
  if (type === "test:fail" && !isOfItsTests(data)) seen.failed++;
}

function isSkipped({ skip }) {
  return skip !== undefined && skip !== false;
}

function isOfItsTests({ details }) {
  return details.error?.failureType === "subtestsFailed";
}

/** Of one file; the last summary is of all of them, without a name. */
function noteTime({ file, duration_ms }, slow) {
  if (file !== undefined && duration_ms >= slowMs)
    slow.push([relative(process.cwd(), file), duration_ms]);
}

/**
 * As `npm test --` takes it: the test file; a room, when a module beside its tests has made the test in a room's bundle.
 * `entryFile` is what the host has started.
 */
function nameOfFile({ file = "unknown", entryFile = file }) {
  const bundle = /\/test-bundles\/(\w+)\.test\.mjs$/.exec(entryFile.replaceAll("\\", "/"));
  const isTest = /\.test\.m?[jt]s$/.test(file);
  return bundle !== null && !isTest
    ? bundle[1]
    : relative(process.cwd(), isTest ? file : entryFile);
}

function noteSkip(data, { skipped, skippedFiles }) {
  const { skip, name, file } = data;
  skippedFiles.add(nameOfFile(data));
  const reason = typeof skip === "string" && skip !== "" ? skip : "no reason given";
  const names = skipped.get(reason) ?? [];
  const where = file === undefined ? "" : `${relative(process.cwd(), file)}: `;
  names.push(`${where}${name}`);
  skipped.set(reason, names);
}

function summary({ passed, failed, skipped, slow }) {
  const reasons = [...skipped].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const count = reasons.reduce((sum, [, names]) => sum + names.length, 0);
  const lines = reasons.flatMap(([reason, names]) => [
    `  ${names.length} because: ${reason}`,
    ...names.slice(0, namesMax).map((name) => `      ${name}`),
    ...(names.length > namesMax ? [`      and ${names.length - namesMax} more`] : []),
  ]);
  const skips = count === 0 ? "" : `\nskipped:\n${lines.join("\n")}\n`;
  return `${slowest(slow)}${skips}\n${passed} passed, ${failed} failed, ${count} skipped\n`;
}

function slowest(slow) {
  if (slow.length === 0) return "";
  const first = slow.toSorted(([, a], [, b]) => b - a).slice(0, slowFilesMax);
  const lines = first.map(
    ([file, ms]) => `  ${String(Math.round(ms / 1000)).padStart(4)} s ${file}\n`,
  );
  return `\nslowest files:\n${lines.join("")}`;
}
