/**
 * Our server answers several hundred raw requests as a stock kube-apiserver 1.36 answered them: status
 * codes, headers that matter, Status bodies and objects. The stock answers are recorded (golden/*.json);
 * what differs on purpose is in known.ts, what is not fixed yet in golden/open.json.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { compareCase, show } from "./compare.ts";
import { readGolden } from "./golden.ts";
import type { Suite } from "./exchange.ts";
import { isKnown } from "./known.ts";
import { readOpen } from "./open.ts";
import { runSuite } from "./run.ts";
import { type Server, startOurs } from "./servers.ts";
import { suites } from "./suites.ts";

describe("beside a stock server", () => {
  const open = readOpen();
  let server: Server;
  before(async () => {
    server = await startOurs();
  });
  after(() => server.stop());

  async function answersOf(suite: Suite): ReturnType<typeof runSuite> {
    if (suite.admission === undefined) return runSuite(server, suite);
    const own = await startOurs(0, suite.admission);
    try {
      return await runSuite(own, suite);
    } finally {
      await own.stop();
    }
  }

  for (const suite of suites) {
    test(`answers of ${suite.name} are the same`, async () => {
      const golden = readGolden(suite.name);
      const ours = await answersOf(suite);
      const found = suite.cases.flatMap(({ name }) =>
        compareCase(`${suite.name}: ${name}`, golden[name] ?? [], ours[name] ?? []),
      );
      const fresh = found.filter((one) => !isKnown(one) && !open.has(one.at));
      assert.equal(fresh.length, 0, fresh.map(show).join("\n"));
    });
  }
});
