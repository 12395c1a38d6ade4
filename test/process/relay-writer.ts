/**
 * The soak's writers, as a worker thread: patches objects in turn at `rate` a second, and lets some come and go.
 * Each write says when it was made. Posts how much was written and how much was refused.
 */
import { parentPort, workerData } from "node:worker_threads";
import { credentialsOf, KubeHttp } from "./kube-http.ts";

interface Orders {
  readonly kubeconfig: string;
  readonly path: string;
  readonly objects: number;
  readonly minutes: number;
  readonly rate: number;
}

export interface WriterReport {
  readonly written: number;
  readonly writesRefused: number;
}

// Each writer waits for its answer, so this is the number of requests under way, and of connections.
const writers = 64;
const connections = 8;
const reportMs = 500;
const { kubeconfig, path, objects, minutes, rate }: Orders = workerData;
const credentials = credentialsOf(kubeconfig);
const clients = Array.from({ length: connections }, () => new KubeHttp(credentials));
const endMs = performance.now() + minutes * 60_000;
let written = 0;
let writesRefused = 0;
const report = setInterval(tell, reportMs);
await Promise.all(Array.from({ length: writers }, (_, at) => write(at)));
clearInterval(report);
for (const client of clients) client.close();
tell();

function tell(): void {
  const said: WriterReport = { written, writesRefused };
  parentPort?.postMessage(said);
}

async function write(writer: number): Promise<void> {
  const client = clients[writer % connections];
  if (client === undefined) return;
  const everyMs = (1000 * writers) / rate;
  let dueMs = performance.now() + (everyMs * writer) / writers;
  for (let n = writer; performance.now() < endMs; n += writers) {
    const status = await writeOne(client, n);
    if (status < 300) written++;
    else writesRefused++;
    dueMs += everyMs;
    const aheadMs = dueMs - performance.now();
    if (aheadMs > 0) await new Promise((resolve) => setTimeout(resolve, aheadMs));
  }
}

async function writeOne(client: KubeHttp, n: number): Promise<number> {
  const patch = { data: { n: String(n), at: String(Date.now()) } };
  const name = `o${n % objects}`;
  const target = `${path}/${name}`;
  // Some come and go, so that there are other events than changes.
  if (n % 50 === 0) await client.request("DELETE", target);
  const answer = await client.request("PATCH", target, patch, "application/merge-patch+json");
  if (answer.status !== 404) return answer.status;
  return (await client.request("POST", path, { metadata: { name }, ...patch })).status;
}
