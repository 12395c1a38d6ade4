/**
 * The behaviour suite: sequences of cases, three servers, one transcript each. `testdata/transcript.txt`
 * has the answers of etcd 3.6.5, `transcript-3.7.txt` those of 3.7.3 to calls that are new there.
 * `--rewrite` as the last argument, with an etcd of that release available, writes a transcript anew.
 *
 * A live etcd of any release from 3.4 on is tested the same way beside Pilothouse. Differences between
 * releases are in `testing/versions.ts`, and nowhere else.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { EtcdClient } from "./client.ts";
import { kvCases, type SuiteCase } from "./testing/cases-kv.ts";
import { leaseCases } from "./testing/cases-lease.ts";
import { oddCases } from "./testing/cases-odd.ts";
import { randomCase } from "./testing/cases-random.ts";
import { rangeStreamCases } from "./testing/cases-range-stream.ts";
import { freshWatchCases, watchCases } from "./testing/cases-watch.ts";
import {
  etcdRelease,
  findEtcd,
  startEtcd,
  startOurs,
  type EtcdRelease,
  type TestServer,
} from "./testing/servers.ts";
import { Transcript } from "./testing/transcript.ts";
import { answersSo } from "./testing/versions.ts";

interface Course {
  readonly file: URL;
  /** Whose answers the file has. */
  readonly release: EtcdRelease;
  readonly cases: readonly SuiteCase[];
}

const courses: readonly Course[] = [
  {
    file: new URL("testdata/transcript.txt", import.meta.url),
    release: "3.6",
    cases: [
      ...freshWatchCases,
      ...kvCases,
      randomCase(1, 150),
      ...watchCases,
      ...leaseCases,
      ...oddCases,
    ],
  },
  {
    file: new URL("testdata/transcript-3.7.txt", import.meta.url),
    release: "3.7",
    cases: rangeStreamCases,
  },
];

const etcd = findEtcd("3.4");
const live = etcd === undefined ? undefined : etcdRelease(etcd);
const noEtcd = "no etcd of 3.4 or later found: set PILOTHOUSE_ETCD, or put `etcd` on the PATH";
const skip = etcd === undefined ? noEtcd : false;

/** What the server answers, by the case's name. `release`: whose answers are wanted. */
async function transcribe(
  server: TestServer,
  release: EtcdRelease,
  cases: readonly SuiteCase[],
): Promise<ReadonlyMap<string, string>> {
  const all = new Map<string, string>();
  const client = new EtcdClient(server.url);
  try {
    for (const one of cases) {
      if (one.needs !== undefined && !answersSo(release, one.needs)) continue;
      const transcript = new Transcript(client, release);
      await one.run(transcript);
      transcript.end();
      all.set(one.name, transcript.lines.join("\n"));
    }
  } finally {
    client.close();
    await server.close();
  }
  return all;
}

function parse(text: string): ReadonlyMap<string, string> {
  const parts = text.split(/^# /m).slice(1);
  return new Map(
    parts.map((part) => {
      const end = part.indexOf("\n");
      return [part.slice(0, end), part.slice(end + 1).trimEnd()];
    }),
  );
}

async function rewrite({ file, release, cases }: Course): Promise<void> {
  const all = await transcribe(await startEtcd(etcd ?? assert.fail(noEtcd)), release, cases);
  const text = [...all].map(([name, lines]) => `# ${name}\n${lines}\n`).join("\n");
  writeFileSync(file, text);
}

if (process.argv.includes("--rewrite")) {
  const written = courses.filter(({ release }) => release === live);
  assert.ok(written.length > 0, `no transcript is of etcd ${live}`);
  for (const course of written) await rewrite(course);
} else {
  for (const { file, release, cases } of courses) {
    const expected = parse(readFileSync(file, "utf8"));
    for (const engine of ["memory", "local"] as const) {
      test(`our store over the ${engine} engine answers as etcd ${release} did`, async (t) => {
        const answers = await transcribe(await startOurs(engine), release, cases);
        for (const { name } of cases) {
          await t.test(name, () => assert.equal(answers.get(name), expected.get(name)));
        }
      });
    }

    const wanted = live ?? release;
    const asked = cases.some(({ needs }) => needs === undefined || answersSo(wanted, needs));
    const none = asked ? skip : `etcd ${wanted} knows none of it`;
    // 3.4, 3.6 and 3.7 were tried. Theirs beside ours, for what is not asked leaves no revisions.
    test(`a real etcd answers as ours, which is as ${release} did`, { skip: none }, async (t) => {
      const answers = await transcribe(await startEtcd(etcd as string), wanted, cases);
      const ours = await transcribe(await startOurs("memory"), wanted, cases);
      t.diagnostic(`etcd ${wanted}: ${answers.size} of ${cases.length} cases`);
      for (const [name, lines] of answers) {
        await t.test(name, () => assert.equal(ours.get(name), lines));
      }
    });
  }

  test("random calls get the answers of a real etcd", { skip }, async () => {
    const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 2);
    const which = [randomCase(seed, 400)];
    const wanted = live as EtcdRelease;
    const ours = await transcribe(await startOurs("memory"), wanted, which);
    const theirs = await transcribe(await startEtcd(etcd as string), wanted, which);
    assert.deepEqual([...ours], [...theirs], `seed ${seed}`);
  });
}
