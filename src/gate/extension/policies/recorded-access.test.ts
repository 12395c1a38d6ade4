/** What `authorizer` answers in expressions when another server has to be asked. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Authorizer } from "#auth/auth.ts";
import type { AccessCheck } from "#cel/libraries/authorizer-library.ts";
import { FakeClock } from "#platform/testing/clock.ts";
import { ExpressionRunner } from "../expressions/runner.ts";
import { PolicyRun } from "./policy-run.ts";
import { RecordedAccess } from "./recorded-access.ts";

const jane = { name: "jane", groups: [] };
const check = (path: string): AccessCheck => ({
  kind: "path",
  subject: undefined,
  verb: "get",
  path,
});

function later(): { readonly authorizer: Authorizer; readonly asked: string[] } {
  const asked: string[] = [];
  const authorizer: Authorizer = {
    authorize({ path }) {
      asked.push(path);
      return Promise.resolve({ allowed: path === "/a", denied: false, reason: "" });
    },
    rulesFor: () => ({ rules: [], incomplete: true }),
  };
  return { authorizer, asked };
}

test("an evaluation starts anew with each answer that a webhook gave", async () => {
  const { authorizer } = later();
  const access = new RecordedAccess(authorizer, jane);
  const run = new PolicyRun(
    { clock: new FakeClock(), runner: new ExpressionRunner(undefined) },
    access,
  );
  const here = () => {
    const allowed = ["/a", "/b", "/a"].map((path) => access.decide(check(path)).allowed);
    return { denials: [], annotations: [], allowed };
  };
  const never = () => assert.fail("it does not go to a thread");
  const decision = await run.run<"decision">(here, never);
  assert.deepEqual((decision as ReturnType<typeof here>).allowed, [true, false, true]);
  assert.equal(access.known.length, 2);
});

test("an expression that asks without end is refused", async () => {
  const { authorizer } = later();
  const access = new RecordedAccess(authorizer, jane);
  const run = new PolicyRun(
    { clock: new FakeClock(), runner: new ExpressionRunner(undefined) },
    access,
  );
  let round = 0;
  const here = () => {
    round++;
    access.decide(check(`/${round}`));
    return { denials: [], annotations: [] };
  };
  const refused = run.run<"decision">(here, () => assert.fail("no thread"));
  await assert.rejects(refused, { code: 504 });
});
