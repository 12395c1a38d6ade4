/** The way to a node: logs, exec, attach, cp, port-forward and the proxies, with the real kubectl. */
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Cluster, Flow } from "./cluster.ts";
import { places } from "./network.ts";
import { namespace } from "./objects.ts";
import { expect, must, until } from "./shell.ts";
import type { Step } from "./table.ts";
import { podsOf } from "./workload-steps.ts";

const copyBytes = 8 * 1024 * 1024;
const flowMs = 20_000;

export function reachSteps(cluster: Cluster): readonly Step[] {
  return [
    { name: "logs, with options", run: () => readLogs(cluster) },
    { name: "logs -f", run: () => follow(cluster, "logs", "-f", "--tail=1", "talk") },
    { name: "attach", run: () => follow(cluster, "attach", "talk") },
    { name: "exec: stdin, stdout, stderr, exit code", run: () => execute(cluster) },
    { name: "cp there and back", run: () => copy(cluster) },
    { name: "port-forward to a pod and a Service", run: () => forward(cluster) },
    { name: "proxy to nodes, pods, Services", run: () => proxy(cluster) },
  ];
}

function inNamespace(...args: readonly string[]): readonly string[] {
  return ["-n", namespace, ...args];
}

async function readLogs(cluster: Cluster): Promise<string> {
  const logs = (...options: readonly string[]): Promise<string> =>
    cluster.kubectl(...inNamespace("logs", "talk", ...options));
  const all = (await logs()).trim().split("\n");
  expect(all[0] === "line 1", `the first line is ${all[0]}`);
  const tail = (await logs("--tail=3", "--timestamps")).trim().split("\n");
  expect(tail.length === 3 && /^\d{4}-\d\d-\d\dT\S+Z line \d+$/.test(tail[0] ?? ""), tail.join());
  expect((await logs("--limit-bytes=6")) === "line 1", "--limit-bytes=6 is not `line 1`");
  const since = (await logs("--since=1s")).trim().split("\n");
  expect(since.length < all.length + 20, `--since=1s gave ${since.length} lines`);
  return "tail, timestamps, limit-bytes, since";
}

/** Twenty lines of a pod that writes ten a second, none missing. */
async function follow(cluster: Cluster, ...command: readonly string[]): Promise<string> {
  const flow = cluster.flow(...inNamespace(...command));
  try {
    const numbers = await until("20 lines", flowMs, async () => {
      const seen = flow.lines().flatMap((line) => /^line (\d+)$/.exec(line)?.[1] ?? []);
      return seen.length >= 20 ? seen.map(Number) : undefined;
    });
    const isWhole = numbers.every((number, at) => number === (numbers[0] ?? 0) + at);
    expect(isWhole, `lines ${numbers.join()}`);
    return `${numbers.length} lines in order`;
  } finally {
    await flow.stop();
  }
}

async function execute(cluster: Cluster): Promise<string> {
  const script = "cat; echo wrong >&2; exit 7";
  const args = inNamespace("exec", "-i", "talk", "--", "sh", "-c", script);
  const { code, stdout, stderr } = await cluster.tryKubectl(args, { input: "typed" });
  expect(stdout === "typed", `stdout is ${JSON.stringify(stdout)}`);
  expect(stderr.startsWith("wrong\n"), `stderr is ${JSON.stringify(stderr)}`);
  expect(code === 7, `exit code ${code}`);
  return "all four arrive";
}

async function copy(cluster: Cluster): Promise<string> {
  const [there, back] = ["there", "back"].map((name) => join(cluster.folder, name));
  const bytes = randomBytes(copyBytes);
  writeFileSync(there ?? "", bytes);
  await cluster.kubectl(...inNamespace("cp", there ?? "", "talk:/tmp/copy"));
  const sum = await cluster.kubectl(...inNamespace("exec", "talk", "--", "sha256sum", "/tmp/copy"));
  const wanted = createHash("sha256").update(bytes).digest("hex");
  expect(sum.startsWith(wanted), `the pod has ${sum}`);
  await cluster.kubectl(...inNamespace("cp", "talk:/tmp/copy", back ?? ""));
  expect(readFileSync(back ?? "").equals(bytes), "the copy that came back differs");
  return `${copyBytes / 1024 / 1024} MiB, equal`;
}

async function forward(cluster: Cluster): Promise<string> {
  const [pod] = await podsOf(cluster, "web");
  for (const [target, port] of [
    [`pod/${pod?.name}`, 8080],
    ["service/web", 80],
  ] as const) {
    const flow = cluster.flow(...inNamespace("port-forward", target, `:${port}`));
    try {
      const local = await forwardedPort(flow);
      for (const _ of [1, 2, 3]) {
        const said = await must("curl", ["-sS", "-m", "10", `http://127.0.0.1:${local}/`]);
        expect(said.startsWith("web-"), `${target} answered ${said}`);
      }
    } finally {
      await flow.stop();
    }
  }
  return "three connections each";
}

async function forwardedPort(flow: Flow): Promise<string> {
  return until("Forwarding from", flowMs, async () => {
    const found = flow.lines().flatMap((line) => /127\.0\.0\.1:(\d+) ->/.exec(line)?.[1] ?? []);
    return found[0];
  });
}

async function proxy(cluster: Cluster): Promise<string> {
  const [pod] = await podsOf(cluster, "web");
  const of = `/api/v1/namespaces/${namespace}`;
  const asked: Readonly<Record<string, RegExp>> = {
    [`/api/v1/nodes/${places[0]?.name}/proxy/healthz`]: /^ok$/,
    [`/api/v1/nodes/${places[1]?.name}:10250/proxy/pods`]: /"kind":"PodList"/,
    [`${of}/pods/${pod?.name}:8080/proxy/`]: /^web-/,
    [`${of}/services/web:80/proxy/`]: /^web-/,
    [`${of}/services/http:web:/proxy/index.html`]: /^web-/,
  };
  for (const [path, pattern] of Object.entries(asked)) {
    const said = await cluster.kubectl("get", "--raw", path);
    expect(pattern.test(said.trim()), `${path} answered ${said.slice(0, 100)}`);
  }
  return `${Object.keys(asked).length} paths`;
}
