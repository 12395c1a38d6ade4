/** The debug pages: upstream's columns, what waits and what executes, and names that try to be rows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#platform/testing/clock.ts";
import type { FlowFacts } from "./classify.ts";
import { dumpPriorityLevels, dumpQueues, dumpRequests } from "./dump.ts";
import { createGate, gateDefaults } from "./gate.ts";
import type { FlowRequest } from "./gate.ts";

const list: FlowFacts = {
  verb: "list",
  path: "/apis/apps/v1/namespaces/ns/deployments",
  isResourceRequest: true,
  group: "apps",
  version: "v1",
  resource: "deployments",
  subresource: "",
  namespace: "ns",
  name: "",
};

function request(name: string, over: Partial<FlowFacts> = {}): FlowRequest {
  return {
    info: { ...list, ...over },
    user: { name, groups: ["system:authenticated"] },
    query: new URLSearchParams(),
    signal: new AbortController().signal,
  };
}

/** One seat for everybody: global-default has one, catch-all none. */
function busyGate() {
  const clock = new FakeClock();
  const gate = createGate({ clock }, { ...gateDefaults, seats: 1 });
  return { clock, gate };
}

/** Cells of the rows whose first cell is `level`, the head included. */
function cells(text: string, level: string): readonly (readonly string[])[] {
  const lines = text.trimEnd().split("\n");
  const rows = lines.map((line) => line.split(/, */).map((cell) => cell.trimEnd()));
  return rows.filter(([first], at) => at === 0 || first === level);
}

test("levels: columns as upstream's, aligned, with what waits, executes and was refused", async () => {
  const { clock, gate } = busyGate();
  void gate.enter(request("jane"));
  void gate.enter(request("jane"));
  void gate.enter(request("joe"));
  const text = dumpPriorityLevels(gate.dump());
  const [head, row] = cells(text, "global-default");
  assert.equal(
    head?.join(),
    "PriorityLevelName,ActiveQueues,IsIdle,IsQuiescing,WaitingRequests,ExecutingRequests," +
      "DispatchedRequests,RejectedRequests,TimedoutRequests,CancelledRequests",
  );
  assert.equal(row?.join(), "global-default,2,false,false,2,1,1,0,0,0");
  assert.equal(cells(text, "exempt")[1]?.join(), "exempt,0,true,false,0,0,0,0,0,0");
  const names = text.trimEnd().split("\n");
  assert.deepEqual(
    names.map((line) => line.split(",")[0]),
    ["PriorityLevelName", ...gate.dump().map(({ name }) => name)],
  );
  const second = names.map((line) => line.slice(0, 19).trimEnd().endsWith(","));
  assert.ok(second.every(Boolean), "the second column begins at the same place everywhere");
  await clock.advance(15_000);
  const later = cells(dumpPriorityLevels(gate.dump()), "global-default")[1];
  assert.equal(later?.join(), "global-default,0,false,false,0,2,2,1,1,0", "one borrowed a seat");
  gate.close();
});

test("queues: what each holds, in seat-seconds as upstream prints them", () => {
  const { gate } = busyGate();
  void gate.enter(request("jane"));
  void gate.enter(request("jane"));
  const [head, ...rows] = cells(dumpQueues(gate.dump()), "global-default");
  assert.equal(
    head?.join(),
    "PriorityLevelName,Index,PendingRequests,ExecutingRequests,SeatsInUse,NextDispatchR," +
      "InitialSeatsSum,MaxSeatsSum,TotalWorkSum",
  );
  assert.equal(rows.length, 128);
  const busy = rows.filter((row) => row[2] !== "0" || row[3] !== "0");
  assert.equal(busy.flatMap((row) => row.slice(2, 5)).filter((cell) => cell !== "0").length, 3);
  const waiting = busy.find((row) => row[2] === "1");
  assert.equal(waiting?.slice(6).join(), "1,1,0.00300000ss");
  gate.close();
});

test("requests: arrival and start, and details for who asks for them", async () => {
  const { clock, gate } = busyGate();
  void gate.enter(request("jane"));
  await clock.advance(250);
  void gate.enter(request("joe", { name: "web", subresource: "scale", verb: "get" }));
  const times = { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
  const at = (ms: number): string =>
    new Date(clock.nowMs() - ms).toISOString().replace(/\.?0*Z$/, "Z");
  const short = cells(dumpRequests(gate.dump(), times, { withDetails: false }), "global-default");
  assert.equal(
    short[0]?.join(),
    "PriorityLevelName,FlowSchemaName,QueueIndex,RequestIndexInQueue,FlowDistingsher,ArriveTime," +
      "InitialSeats,FinalSeats,AdditionalLatency,StartTime",
  );
  const rows = short.slice(1).map((row) => row.filter((_, index) => index !== 2).join());
  assert.deepEqual(rows.toSorted(), [
    `global-default,global-default,-1,jane,${at(250)},1,0,0s,${at(250)}`,
    `global-default,global-default,0,joe,${at(0)},1,0,0s,0001-01-01T00:00:00Z`,
  ]);
  const long = cells(dumpRequests(gate.dump(), times, { withDetails: true }), "global-default");
  assert.equal(
    long[0]?.slice(10).join(),
    "UserName,Verb,APIPath,Namespace,Name,APIVersion,Resource,SubResource",
  );
  const details = long.slice(1).map((row) => row.slice(10).join());
  assert.ok(details.includes(`joe,get,${list.path},ns,web,apps/v1,deployments,scale`));
  gate.close();
});

test("a name with line feeds and escapes is one cell", () => {
  const { clock, gate } = busyGate();
  void gate.enter(request("eve\nexempt,\t\u001b[2J", { path: "/a\r\nb" }));
  const times = { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
  const text = dumpRequests(gate.dump(), times, { withDetails: true });
  assert.equal(text.trimEnd().split("\n").length, 2);
  assert.match(text, /eve\\u000aexempt,\\u0009\\u001b\[2J/);
  assert.match(text, /\/a\\u000d\\u000ab/);
  gate.close();
});
