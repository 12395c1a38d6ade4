/** The discovery service of whole processes: of a plane's own relay, and of one before it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { clusterType, endpointsType } from "#xds/type-urls.ts";
import { deltaRequest } from "#xds/testing/test-client.ts";
import { XdsClient } from "../attacks/xds-client.ts";
import {
  pilothouse,
  removeDirectory,
  type Running,
  startUp,
  temporaryDirectory,
} from "./harness.ts";
import { type RunningRelay, startRelay } from "./relay-harness.ts";

const directory = temporaryDirectory("xds");
const pki = join(directory, "pki");
const kubernetes = "kubernetes.default.svc.cluster.local:443";
let up: Running;
let relay: RunningRelay;

before(async () => {
  const at = ["--data-dir", directory, "--port", "0", "--nodes", "1", "--relay", "127.0.0.1:0"];
  up = await startUp([...at, "--xds-listen", "127.0.0.1:0"]);
  const args = ["--resources", "pods", "--xds-listen", "127.0.0.1:0"];
  relay = await startRelay({ kubeconfig: up.kubeconfig, directory, name: "one", pki, args });
});

after(async () => {
  await relay.stop();
  await up.stop();
  removeDirectory(directory);
});

function dial(output: string): XdsClient {
  const port = /xDS\s+port (\d+)/.exec(output)?.[1] ?? "none";
  const read = (name: string): string => readFileSync(join(pki, name), "utf8");
  const as = { certificate: read("admin.crt"), privateKey: read("admin.key") };
  return new XdsClient({ address: `127.0.0.1:${port}`, ca: read("ca.crt"), as });
}

test("two relays serve the same versions, and a client goes on at the other with its own", async () => {
  const one = dial(up.output());
  one.send(deltaRequest({ type: clusterType }));
  const { resources } = await one.delta();
  assert.ok(resources.has(kubernetes), [...resources.keys()].join());
  const versions = new Map([...resources].map(([name, { version }]) => [name, version]));
  one.close();
  const other = dial(relay.output());
  other.send(deltaRequest({ type: clusterType, versions }));
  other.send(deltaRequest({ type: endpointsType, subscribe: [kubernetes] }));
  const first = await other.delta();
  const sent = [first.type, [...first.resources.keys()], first.removed];
  assert.deepEqual(sent, [clusterType, [], []], "answered, and no cluster is sent again");
  const second = await other.delta();
  assert.deepEqual([second.type, [...second.resources.keys()]], [endpointsType, [kubernetes]]);
  other.close();
});

test("flags that do not fit are refused with what to do", () => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [["--xds-listen", "0.0.0.0:0"], /--xds-listen 0\.0\.0\.0:0: bearer tokens must not cross/],
    [["--xds-listen", "here"], /--xds-listen must be ADDRESS:PORT/],
    [["--xds-listen", "127.0.0.1:0", "--serving-workers", "2"], /--serving-workers at 0/],
  ];
  for (const [flags, expected] of cases) {
    const upstream = ["--upstream", "http://127.0.0.1:1"];
    const { code, stderr } = pilothouse(["relay", ...upstream, ...flags]);
    assert.equal(code, 1, stderr);
    assert.match(stderr, expected);
  }
});
