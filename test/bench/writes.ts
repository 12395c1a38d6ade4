/** `npm run bench -- writes`: see `usage`. The clients are a process of their own: the plane has a core. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { removeDirectory, startUp, temporaryDirectory } from "../process/harness.ts";
import { credentialsOf, KubeHttp } from "../process/kube-http.ts";
import { flagsOf } from "./flags.ts";
import { cpuSeconds, residentBytes } from "./process-cost.ts";

const usage = `npm run bench -- writes [--seconds 10] [--rate 1000] [--clients 64] [--profile DIRECTORY]

What a write over HTTPS costs a whole "pilothouse up": merge patches of ConfigMaps, one request at a time
on each connection.

  --seconds N           how long
  --rate N              writes a second; 0: as many as there can be
  --clients N           connections
  --profile DIRECTORY   where the plane leaves its CPU profile
`;
// The kubeconfig is the program's own, for the process of the clients.
const defaults = { seconds: "10", rate: "1000", clients: "64", profile: "", kubeconfig: "" };
const flags = flagsOf(usage, defaults);
const path = "/api/v1/namespaces/default/configmaps";
const objects = 200;
const seconds = flags.number("seconds");
const clients = flags.number("clients");
const rate = flags.number("rate", 0);

if (flags.text("kubeconfig") === "") await measure();
else await write(flags.text("kubeconfig"));

async function measure(): Promise<void> {
  const directory = temporaryDirectory("writes");
  const profile = flags.text("profile");
  if (profile !== "") {
    process.env["NODE_OPTIONS"] = `--cpu-prof --cpu-prof-dir=${profile}`;
  }
  const args = ["--data-dir", join(directory, "data"), "--port", "0", "--nodes", "0"];
  const plane = await startUp(args);
  delete process.env["NODE_OPTIONS"];
  const direct = new KubeHttp(credentialsOf(plane.kubeconfig));
  for (let at = 0; at < objects; at++) {
    await direct.request("POST", path, { metadata: { name: `o${at}` }, data: { n: "0" } });
  }
  direct.close();
  const before = cpuSeconds(plane.pid);
  const load = spawn(
    process.execPath,
    [import.meta.filename, "--kubeconfig", plane.kubeconfig, ...process.argv.slice(2)],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let said = "";
  load.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  await new Promise((resolve) => load.on("exit", resolve));
  const cpu = cpuSeconds(plane.pid) - before;
  const result = JSON.parse(said) as { written: number };
  const cpuMsPerWrite = Number(((cpu * 1000) / result.written).toFixed(3));
  const residentMb = Math.round(residentBytes(plane.pid) / 1e6);
  console.log(JSON.stringify({ clients, rate, ...result, cpuMsPerWrite, residentMb }));
  await plane.stop();
  removeDirectory(directory);
}

async function write(kubeconfig: string): Promise<void> {
  const credentials = credentialsOf(kubeconfig);
  const startMs = performance.now();
  const endMs = startMs + seconds * 1000;
  const tookMs: number[] = [];
  const writer = async (first: number): Promise<void> => {
    const client = new KubeHttp(credentials);
    const everyMs = rate === 0 ? 0 : (1000 * clients) / rate;
    let dueMs = startMs + (everyMs * first) / clients;
    for (let n = first; performance.now() < endMs; n += clients) {
      const aheadMs = dueMs - performance.now();
      if (aheadMs > 0) await new Promise((resolve) => setTimeout(resolve, aheadMs));
      const beganMs = performance.now();
      const patch = { data: { n: String(n) } };
      const type = "application/merge-patch+json";
      const { status } = await client.request("PATCH", `${path}/o${n % objects}`, patch, type);
      if (status !== 200) throw new Error(`PATCH: ${status}`);
      tookMs.push(performance.now() - beganMs);
      dueMs += everyMs;
    }
    client.close();
  };
  await Promise.all(Array.from({ length: clients }, (_, first) => writer(first)));
  tookMs.sort((a, b) => a - b);
  const at = (share: number): number =>
    Math.round((tookMs[Math.floor(tookMs.length * share)] ?? 0) * 10) / 10;
  const perSecond = Math.round(tookMs.length / ((performance.now() - startMs) / 1000));
  console.log(
    JSON.stringify({ written: tookMs.length, perSecond, p50Ms: at(0.5), p99Ms: at(0.99) }),
  );
}
