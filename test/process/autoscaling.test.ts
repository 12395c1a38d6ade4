/** `kubectl top` and `kubectl autoscale` on `up`: hollow pods use what their annotations say, and are scaled by it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  findKubectl,
  kubectlEnvironment,
  noKubectl,
  removeDirectory,
  run as runProgram,
  startUp,
  temporaryDirectory,
  type Running,
} from "./harness.ts";

const kubectl = findKubectl();

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: default }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      containers:
        - { name: main, image: web, resources: { requests: { cpu: 100m, memory: 64Mi } } }
`;

/** A look each 15 s, on a machine with other work to do. */
const scaledMsMax = 90_000;

describe("autoscaling on up", { skip: kubectl === undefined ? noKubectl : false }, () => {
  const directory = temporaryDirectory("autoscaling");
  let up: Running;
  const run = (line: string, input?: string): string => {
    const env = kubectlEnvironment(up.kubeconfig, directory);
    const options = input === undefined ? { env } : { env, input };
    const { code, stdout, stderr } = runProgram(kubectl ?? "", line.split(" "), options);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const replicas = (): string => run("get deployment web -o jsonpath={.spec.replicas}");
  const until = async (what: string, holds: () => boolean): Promise<void> => {
    for (let waited = 0; !holds(); waited += 500) {
      assert.ok(waited < scaledMsMax, `${what}\n${run("describe hpa web")}`);
      await sleep(500);
    }
  };
  before(async () => {
    const data = join(directory, "data");
    up = await startUp(["--data-dir", data, "--port", "0", "--nodes", "2"]);
    run("apply -f -", deployment);
    run("rollout status deployment/web --timeout=60s");
  });
  after(async () => {
    await up.stop();
    removeDirectory(directory);
  });

  test("kubectl top shows pods, their containers and nodes", () => {
    const pods = run("top pods --no-headers").trim().split("\n");
    assert.equal(pods.length, 2);
    for (const line of pods) assert.match(line, /^web-\S+ +10m +32Mi *$/);
    assert.match(run("top pods --containers --no-headers"), /^web-\S+ +main +10m +32Mi/);
    assert.equal(run("top nodes --no-headers").trim().split("\n").length, 2);
    assert.match(run("top pods -l app=other"), /^$/);
    assert.match(run("api-resources --api-group=metrics.k8s.io -o name"), /nodes.metrics.k8s.io/);
  });

  test("a Deployment grows when its pods say that they work, and shrinks when they rest", async () => {
    run("autoscale deployment web --cpu-percent=50 --min=2 --max=5");
    const rules = { scaleDown: { stabilizationWindowSeconds: 0 } };
    const patch = JSON.stringify({ spec: { behavior: rules } });
    run(`patch hpa web --type=merge -p ${patch}`);
    run("annotate pods -l app=web kwok.x-k8s.io/usage-cpu=100m");
    await until("two pods at 100 % of a target of 50 % become four", () => replicas() === "4");
    assert.match(run("describe hpa web"), /ScalingActive +True +ValidMetricFound/);
    run("annotate pods -l app=web --overwrite kwok.x-k8s.io/usage-cpu=1m");
    await until("idle pods become as few as there may be", () => replicas() === "2");
    assert.match(run("describe hpa web"), /New size: 2; reason: All metrics below target/);
  });
});
