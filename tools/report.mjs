/**
 * Reporter of the test runs: a dot per test, the failures in full, then every skipped test by its reason,
 * and a last line with the three counts. The built-in dot reporter prints no skip at all.
 *
 * A skipped suite counts once: its tests were never made.
 */
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import { dot } from "node:test/reporters";

/** Of one reason; a missing folder of samples skips hundreds. */
const namesMax = 8;

// oxlint-disable-next-line import/no-default-export -- node:test takes a reporter from there.
export default async function* report(source) {
  const seen = { passed: 0, failed: 0, failedFiles: new Set(), skipped: new Map() };
  yield* dot(noted(source, seen));
  yield summary(seen);
  const list = process.env.PILOTHOUSE_FAILED_TESTS;
  if (list !== undefined) writeFileSync(list, [...seen.failedFiles].join("\n"));
}

async function* noted(source, seen) {
  for await (const event of source) {
    note(event, seen);
    yield event;
  }
}

function note({ type, data }, seen) {
  if (type === "test:fail") seen.failedFiles.add(relative(process.cwd(), data.file ?? "unknown"));
  if (type === "test:pass" && isSkipped(data)) return noteSkip(data, seen.skipped);
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

function noteSkip({ skip, name, file }, skipped) {
  const reason = typeof skip === "string" && skip !== "" ? skip : "no reason given";
  const names = skipped.get(reason) ?? [];
  const where = file === undefined ? "" : `${relative(process.cwd(), file)}: `;
  names.push(`${where}${name}`);
  skipped.set(reason, names);
}

function summary({ passed, failed, skipped }) {
  const reasons = [...skipped].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const count = reasons.reduce((sum, [, names]) => sum + names.length, 0);
  const lines = reasons.flatMap(([reason, names]) => [
    `  ${names.length} because: ${reason}`,
    ...names.slice(0, namesMax).map((name) => `      ${name}`),
    ...(names.length > namesMax ? [`      and ${names.length - namesMax} more`] : []),
  ]);
  const skips = count === 0 ? "" : `\nskipped:\n${lines.join("\n")}\n`;
  return `${skips}\n${passed} passed, ${failed} failed, ${count} skipped\n`;
}
