/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Call } from "../evidence.ts";
import { sampled } from "../testing/evidence.ts";
import { listStorm } from "./list-storm.ts";

const requests = (verb: string, count: number): string =>
  `apiserver_request_total{verb="${verb}",group="",resource="configmaps",code="200"} ${count}\n`;

test("a kind that is listed a hundred times a second is named", () => {
  const [verdict] = listStorm.judge(sampled(requests("LIST", 10), requests("LIST", 110)));
  assert.equal(verdict?.sentence, "configmaps is listed 100 times a second");
});

test("an audit log names the client that lists the most", () => {
  const call = (user: string, count: number, resource: string): Call => {
    return { kind: "list", userAgent: "shop/1", user, group: "", resource, count };
  };
  const calls = [call("amy", 90, "pods"), call("bob", 80, "configmaps")];
  const evidence = {
    ...sampled(requests("LIST", 10), requests("LIST", 110)),
    audit: { calls, seconds: 1, dropped: 0, uncounted: 0 },
  };
  const [verdict] = listStorm.judge(evidence);
  assert.deepEqual([verdict?.culprit, verdict?.unseen], ["shop/1 (bob)", undefined]);
});

test("many gets, few lists, and many lists of long ago are well", () => {
  assert.deepEqual(listStorm.judge(sampled(requests("GET", 0), requests("GET", 900))), []);
  assert.deepEqual(listStorm.judge(sampled(requests("LIST", 0), requests("LIST", 20))), []);
  const before = requests("LIST", 90_000);
  assert.deepEqual(listStorm.judge(sampled(before, before)), []);
});
