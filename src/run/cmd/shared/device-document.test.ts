/** The file of --devices: what it may say, and how mistakes are reported. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDeviceFile } from "./device-document.ts";

const head = "deviceClass: gpu\ndriver: gpu.example.com\n";

test("everything is read", () => {
  const { devices, problems } = parseDeviceFile(`${head}perNode: 8
nvlinkDomainSize: 4
attributes: { model: h100, ecc: true, cores: 132, driverVersion: { version: 1.2.3 } }
capacity: { memory: 80Gi, lanes: 16 }
partitions: [{ name: half, count: 2 }]
prepare: { delaySeconds: 0.5, error: no such device }
`);
  assert.deepEqual(problems, []);
  assert.deepEqual(devices, {
    className: "gpu",
    driver: "gpu.example.com",
    perNode: 8,
    nvlinkDomainSize: 4,
    attributes: {
      model: { string: "h100" },
      ecc: { bool: true },
      cores: { int: 132 },
      driverVersion: { version: "1.2.3" },
    },
    capacity: { memory: "80Gi", lanes: "16" },
    partitions: [{ name: "half", count: 2 }],
    prepareMs: 500,
    prepareError: "no such device",
  });
});

test("a class and a driver are enough: one device a node", () => {
  const { devices } = parseDeviceFile(head);
  assert.equal(devices?.perNode, 1);
  assert.equal(devices?.nvlinkDomainSize, 1);
  assert.equal(devices?.prepareMs, 0);
});

const mistakes: readonly (readonly [string, string])[] = [
  ["perNod: 8", "line 3: perNod: is not known; known: deviceClass"],
  ["perNode: 129", "line 3: perNode: must be at most 128"],
  ["perNode: x", "line 3: perNode: must be a whole number from 1 on"],
  ["nvlinkDomainSize: 2", "line 3: nvlinkDomainSize: must be at most 1"],
  ["attributes: {index: 1}", "line 3: attributes.index: is given to every device"],
  ["attributes: {a: 1.5}", "line 3: attributes.a: must be a whole number, true or false"],
  ["attributes: {a: {version: v1}}", "line 3: attributes.a.version: must be as 1.2.3"],
  ["capacity: {memory: -1Gi}", "line 3: capacity.memory: must be a whole quantity"],
  ["partitions: [{name: a}]", "line 3: partitions[0].count: is required"],
  [
    "partitions: [{name: a, count: 2}, {name: a, count: 3}]",
    'line 3: partitions[1].name: "a" stands twice',
  ],
  ["prepare: {delaySeconds: -1}", "line 3: prepare.delaySeconds: must be a number from 0 to 3600"],
  [
    "perNode: 128\npartitions: [{name: a, count: 64}]",
    "line 4: partitions: make 8320 devices a node, more than 1024",
  ],
];

for (const [line, problem] of mistakes) {
  test(`refused: ${line}`, () => {
    const { problems } = parseDeviceFile(`${head}${line}\n`);
    assert.ok(problems[0]?.startsWith(problem), problems.join("\n"));
    assert.equal(problems.length, 1);
  });
}

test("a repeated key, other YAML and an empty file are refused", () => {
  assert.match(parseDeviceFile(`${head}driver: b\n`).problems.join(), /driver/);
  assert.match(parseDeviceFile("[1").problems.join(), /./);
  assert.match(parseDeviceFile("").problems.join(), /the file: must be a map/);
});
