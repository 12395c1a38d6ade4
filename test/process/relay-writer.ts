/**
 * The soak's writers, as a worker thread: patches objects in turn at `rate` a second, and lets some come and go.
 * Posts how much it has written.
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

// Each waits for its answer: so many are under way at once.
const writers = 64;
const reportMs = 500;
const { kubeconfig, path, objects, minutes, rate }: Orders = workerData;
const credentials = credentialsOf(kubeconfig);
const endMs = performance.now() + minutes * 60_000;
let written = 0;
const report = setInterval(() => parentPort?.postMessage(written), reportMs);
await Promise.all(Array.from({ length: writers }, (_, at) => write(at)));
clearInterval(report);
parentPort?.postMessage(written);

async function write(writer: number): Promise<void> {
  const client = new KubeHttp(credentials);
  const everyMs = (1000 * writers) / rate;
  let dueMs = performance.now() + (everyMs * writer) / writers;
  for (let n = writer; performance.now() < endMs; n += writers) {
    await writeOne(client, n);
    written++;
    dueMs += everyMs;
    const aheadMs = dueMs - performance.now();
    if (aheadMs > 0) await new Promise((resolve) => setTimeout(resolve, aheadMs));
  }
  client.close();
}

async function writeOne(client: KubeHttp, n: number): Promise<void> {
  const patch = { data: { n: String(n) } };
  const target = `${path}/o${n % objects}`;
  // Some come and go, so that there are other events than changes.
  if (n % 50 === 0) await client.request("DELETE", target);
  const answer = await client.request("PATCH", target, patch, "application/merge-patch+json");
  if (answer.status !== 404) return;
  await client.request("POST", path, { metadata: { name: `o${n % objects}` }, ...patch });
}
