/**
 * The behaviour suite: one course of cases, three servers, one transcript. `testdata/transcript.txt`
 * is what etcd 3.6.5 answered; `--rewrite` as the last argument, with an etcd at hand, writes it anew.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { EtcdClient } from "./client.ts";
import { kvCases } from "./testing/cases-kv.ts";
import { leaseCases } from "./testing/cases-lease.ts";
import { oddCases } from "./testing/cases-odd.ts";
import { randomCase } from "./testing/cases-random.ts";
import { watchCases } from "./testing/cases-watch.ts";
import { findEtcd, startEtcd, startOurs, type TestServer } from "./testing/servers.ts";
import { Transcript } from "./testing/transcript.ts";

const cases = [...kvCases, randomCase(1, 150), ...watchCases, ...leaseCases, ...oddCases];
const golden = new URL("testdata/transcript.txt", import.meta.url);
const etcd = findEtcd();
const noEtcd = "no etcd 3.6 found: set PILOTHOUSE_ETCD, or put `etcd` on the PATH";

async function transcribe(
  server: TestServer,
  which: typeof cases = cases,
): Promise<ReadonlyMap<string, string>> {
  const all = new Map<string, string>();
  const client = new EtcdClient(server.url);
  try {
    for (const one of which) {
      const transcript = new Transcript(client);
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

if (process.argv.includes("--rewrite")) {
  const all = await transcribe(await startEtcd(etcd ?? assert.fail(noEtcd)));
  const text = [...all].map(([name, lines]) => `# ${name}\n${lines}\n`).join("\n");
  writeFileSync(golden, text);
} else {
  const expected = parse(readFileSync(golden, "utf8"));
  for (const engine of ["memory", "local"] as const) {
    test(`our store over the ${engine} engine answers as etcd 3.6.5 did`, async (t) => {
      const answers = await transcribe(await startOurs(engine));
      for (const { name } of cases) {
        await t.test(name, () => assert.equal(answers.get(name), expected.get(name)));
      }
    });
  }

  test("a real etcd still answers so", { skip: etcd === undefined ? noEtcd : false }, async (t) => {
    const answers = await transcribe(await startEtcd(etcd as string));
    for (const { name } of cases) {
      await t.test(name, () => assert.equal(answers.get(name), expected.get(name)));
    }
  });

  test(
    "random calls get the answers of a real etcd",
    {
      skip: etcd === undefined ? noEtcd : false,
    },
    async () => {
      const seed = Number(process.env["PILOTHOUSE_SEED"] ?? 2);
      const which = [randomCase(seed, 400)];
      const name = which[0]?.name as string;
      const ours = await transcribe(await startOurs("memory"), which);
      const theirs = await transcribe(await startEtcd(etcd as string), which);
      assert.equal(ours.get(name), theirs.get(name), `seed ${seed}`);
    },
  );
}
