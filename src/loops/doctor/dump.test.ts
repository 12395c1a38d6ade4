/** The dump of priority and fairness: what a stock server wrote, and what nobody should write. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseHeldRequests } from "./dump.ts";

/** Of kube-apiserver 1.36.3. */
const header =
  "PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, FlowDistingsher, ArriveTime,                     InitialSeats, FinalSeats, AdditionalLatency, StartTime,                      UserName,         Verb,   APIPath,                                        Namespace, Name,   APIVersion, Resource, SubResource";
const row =
  "exempt,            exempt,         -1,         -1,                  ,                2026-11-23T11:03:48.062966682Z, 1,            0,          0s,                2026-11-23T11:03:48.062966682Z, kubernetes-admin, list,    /api/v1/pods,  , , v1, pods, ";

test("a request's level, schema, user, verb and resource are read", () => {
  assert.deepEqual(parseHeldRequests(`${header}\n${row}\n`), [
    { level: "exempt", schema: "exempt", user: "kubernetes-admin", verb: "list", resource: "pods" },
  ]);
});

test("a user with a comma is not read, and its level is", () => {
  const [held] = parseHeldRequests(`${header}\n${row.replace("kubernetes-admin", "a, b")}`);
  assert.deepEqual([held?.level, held?.user], ["exempt", ""]);
});

test("text that is no dump holds no requests, and rows are bounded", () => {
  assert.deepEqual(parseHeldRequests('{"kind":"Status"}\na,b,c'), []);
  assert.equal(parseHeldRequests(`${header}\n${`${row}\n`.repeat(20_000)}`).length, 10_000);
});
