/** A fault that makes the rule fire, and neighbours that must not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sampled } from "../testing/evidence.ts";
import { flows } from "./flows.ts";

const rejected = (count: number): string =>
  `apiserver_flowcontrol_rejected_requests_total{flow_schema="service-accounts",priority_level="workload-low",reason="queue-full"} ${count}\n`;

const seats = (level: string, used: number): string =>
  `apiserver_flowcontrol_current_executing_seats{flow_schema="s",priority_level="${level}"} ${used}
apiserver_flowcontrol_nominal_limit_seats{priority_level="${level}"} 10\n`;

test("requests that are turned away name their flow schema and level", () => {
  const [verdict] = flows.judge(sampled(rejected(3), rejected(10)));
  assert.equal(verdict?.culprit, "flow schema service-accounts");
  assert.equal(verdict.figures["rejected"], 7);
});

test("the dump of held requests names the user of the most of them", () => {
  const held = (user: string, schema: string) => ({
    level: "workload-low",
    schema,
    user,
    verb: "list",
    resource: "pods",
  });
  const requests = ["a", "b", "b", ""].map((user) => held(user, "service-accounts"));
  const evidence = { ...sampled(rejected(3), rejected(10)), held: [...requests, held("c", "x")] };
  assert.equal(
    flows.judge(evidence)[0]?.culprit,
    "b (list of pods), in flow schema service-accounts",
  );
});

test("a level with nine of ten seats in use is named", () => {
  const [verdict] = flows.judge(sampled("", seats("workload-low", 9)));
  assert.equal(verdict?.culprit, "priority level workload-low");
});

test("old rejections, a level with room, and the exempt level are well", () => {
  const now = rejected(3) + seats("workload-low", 8) + seats("exempt", 40);
  assert.deepEqual(flows.judge(sampled(rejected(3), now)), []);
});
