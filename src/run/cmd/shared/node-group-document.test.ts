/** What an operator may declare of node groups, each mistake with its line and field. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parseNodeGroups } from "./node-group-document.ts";

test("the example is read as it is written", () => {
  const path = new URL("../../../../examples/node-groups/groups.yaml", import.meta.url);
  const { file, problems } = parseNodeGroups(readFileSync(path, "utf8"));
  assert.deepEqual(problems, []);
  assert.deepEqual(
    file?.groups.map(({ name, min, max, initial }) => [name, min, max, initial]),
    [
      ["small", 0, 50, 0],
      ["large", 0, 20, 0],
      ["gpu", 0, 4, 0],
    ],
  );
  assert.deepEqual(file?.groups[2]?.shape, {
    cpu: "16",
    memory: "64Gi",
    pods: "110",
    "nvidia.com/gpu": "4",
  });
  assert.deepEqual(file?.groups[0]?.start, { leastMs: 2_000, mostMs: 5_000 });
  assert.deepEqual(file?.quotas, { gpus: 2 });
});

test("all mistakes are named at once", () => {
  const text = `groups:
- {name: A, min: 5, max: 2, shape: {cpu: many}, startSeconds: [3, 1]}
- {name: b, failures: [{kind: explode}], quota: none, labels: {"a b": x}, typo: 1}
- {name: b, taints: [{key: k, effect: Sometimes}], price: -1}
`;
  assert.deepEqual(parseNodeGroups(text).problems, [
    "line 2: groups[0].min: must be at most max, 2",
    "line 2: groups[0].initial: must be from min, 5, to max, 2",
    "line 2: groups[0].name: must be of lower case letters, digits, - and ., 63 at most",
    "line 2: groups[0].shape.cpu: must be a quantity, as 4 or 16Gi",
    "line 2: groups[0].startSeconds: must be a number from 0 to 86400, or two of them, the smaller first",
    `line 3: groups[1].typo: is not known; known: name, min, max, initial, shape, labels, taints, zones, price, startSeconds, quota, rampPercentPerMinute, failures`,
    'line 3: groups[1].quota: "none" is none of quotas',
    "line 3: groups[1].labels.a b: is no name of a label",
    "line 3: groups[1].failures[0].kind: must be one of refuse, hang, never, error",
    "line 4: groups[2].taints[0].effect: must be one of NoSchedule, PreferNoSchedule, NoExecute",
    "line 4: groups[2].price: must be a number from 0 to 1000000",
    'line 4: groups[2].name: "b" stands twice',
  ]);
});

test("an empty file, a file of something else and too many groups are refused", () => {
  for (const text of ["", "groups: []", "groups: 3", "a: b"]) {
    assert.notDeepEqual(parseNodeGroups(text).problems, [], text);
  }
});
