/** `pilothouse scheduler explain POD` on `up`: of a pod that is placed, of one that no node takes, and of none. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Pod } from "#api/gen/types.ts";
import type { Explanation } from "#scheduler/explain.ts";
import {
  type CommandResult,
  pilothouse,
  removeDirectory,
  type Running,
  startUp,
  temporaryDirectory,
} from "./harness.ts";
import { type Asking, clientOf, createPod, nodeOf, podsRef, until } from "./role-harness.ts";

const nodesRef = { group: "", version: "v1", resource: "nodes" };
const taint = { key: "dedicated", value: "db", effect: "NoSchedule" };

void describe("pilothouse scheduler explain", { timeout: 180_000 }, () => {
  const directory = temporaryDirectory("explain");
  let up: Running;
  let asking: Asking;
  let placed = "";
  const explain = (...args: readonly string[]): CommandResult =>
    pilothouse(["scheduler", "explain", ...args, "--kubeconfig", up.kubeconfig]);
  const explained = (...args: readonly string[]): string => {
    const { code, stdout, stderr } = explain(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  };

  before(async () => {
    up = await startUp(["--data-dir", join(directory, "data"), "--port", "0", "--nodes", "2"]);
    asking = await clientOf(up.kubeconfig);
    const { client } = asking;
    const spec = { taints: [taint] };
    await until("a node", () =>
      client.patch(nodesRef, "", "hollow-1", "merge", { spec }).catch(() => undefined),
    );
    await until("an account", () => createPod(client, "small").catch(() => undefined));
    placed = await nodeOf(client, "small");
    const resources = { requests: { cpu: "1k" } };
    await client.create<Pod>(podsRef, "default", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "big", namespace: "default" },
      spec: { containers: [{ name: "main", image: "nginx", resources }] },
    });
  });
  after(async () => {
    asking?.close();
    await up?.stop();
    removeDirectory(directory);
  });

  test("a pod that is placed: its node, and how the nodes score now", () => {
    const lines = explained("small").split("\n");
    const fits = "it is on hollow-0; as things stand, 1 of 2 nodes would take it";
    assert.equal(placed, "hollow-0");
    assert.equal(lines[0], `Pod default/small (default-scheduler): ${fits}`);
    assert.ok(lines.includes(`  1 of 2 nodes refused by TaintToleration: ${tainted}`));
    assert.ok(lines.some((line) => /^ {2}hollow-0 \(it is here\) scores \d+: /.test(line)));
  });

  test("a pod that no node takes: what each plugin refuses, and what would have to change", () => {
    assert.equal(explained("big"), refusedText);
  });

  test("as JSON", () => {
    const found = JSON.parse(explained("big", "-n", "default", "-o", "json")) as Explanation;
    assert.equal(found.pod, "default/big");
    assert.equal(found.nodes, 2);
    assert.equal(found.feasible, 0);
    assert.equal(found.nodeName, undefined);
    assert.deepEqual(
      found.refusals.map(({ plugin, examples }) => [plugin, ...examples]),
      [
        ["NodeResourcesFit", "hollow-0"],
        ["TaintToleration", "hollow-1"],
      ],
    );
    const small = JSON.parse(explained("small", "-o", "json")) as Explanation;
    assert.equal(small.nodeName, "hollow-0");
    assert.deepEqual(
      small.scores.map(({ node }) => node),
      ["hollow-0"],
    );
  });

  test("a name that is not there, or another output, is an error of one line", () => {
    for (const args of [["nothing"], ["small", "-n", "elsewhere"]]) {
      const { code, stdout, stderr } = explain(...args);
      assert.equal(code, 1);
      assert.equal(stdout, "");
      const space = args[2] ?? "default";
      assert.equal(stderr, `pilothouse: no pod ${space}/${args[0]}\n`);
    }
    const { code, stderr } = explain("small", "-o", "yaml");
    assert.equal(code, 1);
    assert.match(stderr, /Allowed choices are text, json/);
  });
});

const tainted = "node(s) had untolerated taint(s)";
const refusedText = `Pod default/big (default-scheduler): none of 2 nodes takes it
  1 of 2 nodes refused by NodeResourcesFit: Insufficient cpu
      hollow-0
      to change: ask for at most 8000m instead of 1000000m, which hollow-0 has free, or free 992000m there
  1 of 2 nodes refused by TaintToleration: ${tainted}
      hollow-1
      to change: tolerate dedicated=db:NoSchedule, or take it off the node
`;
