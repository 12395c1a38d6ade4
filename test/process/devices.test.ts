/**
 * `up --devices` and kubectl, with the files of examples/devices that docs/devices.md shows: parts of a GPU, eight
 * GPUs of one NVLink domain, a ninth that nobody has, and drivers that fail.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  findKubectl,
  kubectlEnvironment,
  noKubectl,
  pilothouse,
  removeDirectory,
  root,
  run as runProgram,
  startUp,
  temporaryDirectory,
  type Running,
} from "./harness.ts";

const kubectl = findKubectl();
const examples = join(root, "examples", "devices");
/** A pod that waits for devices is tried again after a back-off. */
const changedMsMax = 60_000;

const devices = "-o=jsonpath={.status.allocation.devices.results[*].device}";

class Cluster {
  readonly directory = temporaryDirectory("devices");
  #up: Running | undefined;

  async start(file: string): Promise<void> {
    const data = join(this.directory, "data");
    const at = ["--data-dir", data, "--port", "0", "--nodes", "1"];
    this.#up = await startUp([...at, "--devices", file]);
  }

  async stop(): Promise<void> {
    await this.#up?.stop();
    removeDirectory(this.directory);
  }

  run(line: string): string {
    const env = kubectlEnvironment(this.#up?.kubeconfig ?? "", this.directory);
    const { code, stdout, stderr } = runProgram(kubectl ?? "", line.split(" "), { env });
    assert.equal(code, 0, `${line}: ${stderr}`);
    return stdout;
  }

  async apply(file: string): Promise<void> {
    const accounts = (): boolean => this.run("get serviceaccounts -o name").includes("default");
    await this.until("a service account", accounts);
    this.run(`apply -f ${join(examples, file)}`);
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    for (let waited = 0; !holds(); waited += 300) {
      assert.ok(
        waited < changedMsMax,
        `${what}\n${this.run("get pods,resourceclaims,events -o wide")}`,
      );
      await sleep(300);
    }
  }

  phase(pod: string): string {
    return this.run(`get pod ${pod} -o jsonpath={.status.phase}`);
  }

  runs(pod: string): Promise<void> {
    return this.until(`${pod} runs`, () => this.phase(pod) === "Running");
  }
}

describe("devices on up", { skip: kubectl === undefined ? noKubectl : false }, () => {
  describe("parts of a GPU", () => {
    const cluster = new Cluster();
    before(() => cluster.start(join(examples, "partitions.yaml")));
    after(() => cluster.stop());

    test("a pod that asks for a quarter of a GPU runs with one", async () => {
      await cluster.apply("quarter-pod.yaml");
      await cluster.runs("inference");
      const claim = cluster.run("get resourceclaims -o name").trim();
      assert.match(claim, /\/inference-gpu-\w+$/);
      assert.match(cluster.run(`get ${claim} ${devices}`), /^gpu-0-quarter-\d$/);
    });

    test("the whole GPU waits until the quarter is given back", async () => {
      await cluster.apply("whole-pod.yaml");
      await cluster.until("a verdict", () => scheduled(cluster, "whole") !== "");
      assert.match(
        scheduled(cluster, "whole"),
        /^0\/1 nodes are available: 1 cannot allocate all claims\. still not schedulable, preemption: /,
      );
      cluster.run("delete pod inference");
      await cluster.runs("whole");
      assert.equal(cluster.run(`get resourceclaim whole ${devices}`), "gpu-0");
      assert.equal(cluster.run("get resourceclaims -o name").trim().split("\n").length, 1);
    });
  });

  describe("an NVLink domain", () => {
    const cluster = new Cluster();
    before(() => cluster.start(join(examples, "nvlink.yaml")));
    after(() => cluster.stop());

    test("eight GPUs of one domain run together, and a ninth waits until they are free", async () => {
      await cluster.apply("eight-pod.yaml");
      await cluster.runs("training");
      const taken = cluster.run(`get resourceclaim eight ${devices}`).split(" ");
      assert.equal(new Set(taken).size, 8);
      await cluster.apply("ninth-pod.yaml");
      await cluster.until("a verdict", () => scheduled(cluster, "ninth") !== "");
      assert.equal(
        scheduled(cluster, "ninth"),
        "0/1 nodes are available: 1 cannot allocate all claims. still not schedulable, " +
          "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
      );
      assert.equal(cluster.phase("ninth"), "Pending");
      cluster.run("delete pod training");
      await cluster.runs("ninth");
    });
  });

  describe("a driver that fails", () => {
    const cluster = new Cluster();
    before(() => {
      const file = join(cluster.directory, "failing.yaml");
      const prepare = "{ delaySeconds: 0.1, error: no such device }";
      writeFileSync(file, `deviceClass: gpu\ndriver: gpu.example.com\nprepare: ${prepare}\n`);
      return cluster.start(file);
    });
    after(() => cluster.stop());

    test("its pod is ContainerCreating, with a kubelet's event", async () => {
      await cluster.apply("ninth-pod.yaml");
      const reason = "FailedPrepareDynamicResources";
      const event = (): string =>
        cluster.run(`get events --field-selector=reason=${reason} -o jsonpath={.items[*].message}`);
      await cluster.until("an event", () => event() !== "");
      await cluster.until("ContainerCreating", () =>
        cluster.run("get pod ninth").includes("ContainerCreating"),
      );
      assert.equal(
        event(),
        "Failed to prepare dynamic resources: prepare dynamic resources: " +
          "NodePrepareResources failed for ResourceClaim ninth: no such device",
      );
    });
  });

  test("docs/devices.md shows these files", () => {
    const page = readFileSync(join(root, "docs", "devices.md"), "utf8");
    const shown = ["partitions.yaml", "quarter-pod.yaml", "nvlink.yaml", "eight-pod.yaml"];
    for (const file of shown) {
      const text = readFileSync(join(examples, file), "utf8");
      assert.ok(page.includes(`\`\`\`yaml\n${text}\`\`\``), file);
    }
  });

  test("a file with mistakes is refused at the start, with line and field", () => {
    const directory = temporaryDirectory("device-file");
    const file = join(directory, "bad.yaml");
    writeFileSync(file, "deviceClass: gpu\ndriver: gpu.example.com\nperNode: many\n");
    const { code, stderr } = pilothouse(["up", "--data-dir", directory, "--devices", file]);
    removeDirectory(directory);
    assert.notEqual(code, 0);
    assert.ok(
      stderr.includes(`${file}: line 3: perNode: must be a whole number from 1 on`),
      stderr,
    );
  });
});

function scheduled(cluster: Cluster, pod: string): string {
  const path = '{.status.conditions[?(@.type=="PodScheduled")].message}';
  return cluster.run(`get pod ${pod} -o jsonpath=${path}`);
}
