/** What an operator types when an API server is overloaded, with kubectl against `up`: each command, and what it prints. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  type CommandResult,
  findKubectl,
  kubectlEnvironment,
  noKubectl,
  removeDirectory,
  root,
  run,
  type Running,
  startUp,
  temporaryDirectory,
} from "./harness.ts";

const kubectl = findKubectl();
const scratch = temporaryDirectory("operator");
const noisy = "--as=system:serviceaccount:noisy:controller";
const groups = ["--as-group=system:serviceaccounts", "--as-group=system:authenticated"];

/** The example of the page. */
function example(): string {
  const page = readFileSync(join(root, "docs", "fairness.md"), "utf8");
  const found = /```yaml\n([\s\S]*?)```/.exec(page)?.[1];
  assert.ok(found !== undefined, "docs/fairness.md has an example");
  return found;
}

describe("an overloaded API server", { skip: kubectl === undefined && noKubectl }, () => {
  let up: Running;

  const command = (...args: readonly string[]): CommandResult =>
    run(kubectl ?? "", args, { env: kubectlEnvironment(up.kubeconfig, scratch) });
  const printed = (...args: readonly string[]): string => {
    const { code, stdout, stderr } = command(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  /** As `kubectl ... | grep -E pattern`. */
  const grepped = (pattern: RegExp, ...args: readonly string[]): readonly string[] =>
    printed(...args)
      .split("\n")
      .filter((line) => pattern.test(line));

  before(async () => {
    up = await startUp(["--port", "0", "--nodes", "1", "--data-dir", join(scratch, "data")]);
  });
  after(async () => {
    await up.stop();
    removeDirectory(scratch);
  });

  test("a FlowSchema and a level for a noisy controller, as documented", () => {
    const file = join(scratch, "noisy.yaml");
    writeFileSync(file, example());
    assert.equal(
      printed("apply", "-f", file),
      "prioritylevelconfiguration.flowcontrol.apiserver.k8s.io/noisy created\n" +
        "flowschema.flowcontrol.apiserver.k8s.io/noisy-controller created\n",
    );
    const [head, row] = printed("get", "flowschemas", "noisy-controller").split("\n");
    assert.match(
      head ?? "",
      /^NAME +PRIORITYLEVEL +MATCHINGPRECEDENCE +DISTINGUISHERMETHOD +AGE +MISSINGPL$/,
    );
    assert.match(row ?? "", /^noisy-controller +noisy +1000 +ByUser +\S+ +(False|\?)$/);
    printed(
      "create",
      "clusterrolebinding",
      "noisy",
      "--clusterrole=view",
      "--user=system:serviceaccount:noisy:controller",
    );
    printed("get", "pods", "-A", noisy, ...groups);
    const levels = printed("get", "--raw", "/debug/api_priority_and_fairness/dump_priority_levels");
    assert.match(levels, /^noisy, +0, +true, +false, +0, +0, +[1-9]\d*, +0, +0, +0\n/m);
    const queues = printed("get", "--raw", "/debug/api_priority_and_fairness/dump_queues");
    assert.equal(queues.split("\n").filter((line) => line.startsWith("noisy,")).length, 16);
  });

  test("old versions of the group are answered as stock answers them", () => {
    for (const version of ["v1beta1", "v1beta2", "v1beta3"]) {
      const old = example().replaceAll("k8s.io/v1\n", `k8s.io/${version}\n`);
      const file = join(scratch, `${version}.yaml`);
      writeFileSync(file, old);
      const { code, stderr } = command("apply", "-f", file);
      assert.equal(code, 1);
      const unknown = `no matches for kind "FlowSchema" in version "flowcontrol.apiserver.k8s.io/${version}"`;
      assert.ok(stderr.includes(unknown), stderr);
      const raw = command("get", "--raw", `/apis/flowcontrol.apiserver.k8s.io/${version}`);
      assert.match(raw.stderr, /the server could not find the requested resource/);
    }
  });

  test("the metrics that matter", () => {
    const max = '{"metadata":{"annotations":{"flowcontrol.pilothouse.dev/watches-max":"0"}}}';
    printed("patch", "prioritylevelconfiguration", "noisy", "--type=merge", "-p", max);
    const watch = ["get", "--raw", "/api/v1/configmaps?watch=1", "--request-timeout=1s"];
    assert.equal(command(...watch, noisy, ...groups).code, 1, "it has no watch left");
    const names =
      /apiserver_flowcontrol_rejected_requests_total|apiserver_flowcontrol_current_inqueue_requests|apiserver_flowcontrol_request_wait_duration|etcd_disk_wal_fsync_duration|scheduler_scheduling_attempt_duration/;
    const lines = grepped(names, "get", "--raw", "/metrics");
    const wanted = [
      /^apiserver_flowcontrol_rejected_requests_total\{priority_level="noisy",flow_schema="noisy-controller",reason="watch-limit"\} [1-9]/,
      /^apiserver_flowcontrol_current_inqueue_requests\{priority_level="noisy",flow_schema="noisy-controller"\} 0$/,
      /^apiserver_flowcontrol_request_wait_duration_seconds_count\{priority_level="noisy",flow_schema="noisy-controller",execute="true"\} [1-9]/,
      /^etcd_disk_wal_fsync_duration_seconds_count [1-9]/,
    ];
    for (const one of wanted)
      assert.ok(
        lines.some((line) => one.test(line)),
        `${one}\n${lines.join("\n")}`,
      );
    assert.ok(
      lines.some((line) =>
        line.startsWith("# TYPE scheduler_scheduling_attempt_duration_seconds histogram"),
      ),
    );
  });

  test("cheaper lists: in pages, from the cache, without compression", () => {
    const raw = (path: string): { metadata: { resourceVersion: string }; items: unknown[] } =>
      JSON.parse(printed("get", "--raw", path)) as ReturnType<typeof raw>;
    const page = raw("/api/v1/configmaps?limit=500");
    const cached = raw("/api/v1/configmaps?resourceVersion=0");
    assert.ok(page.items.length > 0);
    assert.equal(cached.items.length, page.items.length);
    assert.match(cached.metadata.resourceVersion, /^[1-9]\d*$/);
    const plain = printed("get", "configmaps", "-A", "--disable-compression", "-o", "name");
    assert.equal(plain, printed("get", "configmaps", "-A", "-o", "name"));
  });
});
