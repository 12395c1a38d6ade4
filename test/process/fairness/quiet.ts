/**
 * Fifty tenants that ask for little, and leader elections beside them, in a process of its own: what delays the flood's
 * process must not delay its clock.
 *
 * Each tenant is a service account with a connection of its own; in turns it gets an object, lists its namespace and
 * updates an object. An election updates its Lease every second, as client-go's elector does every two; some are those of
 * kube-system (level leader-election), others a tenant's (level workload-low, the flood's).
 * Asks  over IPC: `start` forgets, and begins; `stop` answers when the last request has ended. Ends with its parent.
 */
import { type ChildProcess, fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { bound } from "../bound-child.ts";
import { type Answer, type Json, KubeHttp } from "../kube-http.ts";

export interface QuietFigures {
  readonly requests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly mostMs: number;
  /** Of reads alone: they wait for no disk. */
  readonly readP99Ms: number;
  /** CPU time of the server's main thread from question to answer: others on the machine change it little. */
  readonly p99CpuMs: number;
  /** Answers 429. */
  readonly refused: number;
  /** Answers neither 200 nor 429. */
  readonly failed: number;
  readonly renewals: number;
  readonly renewalP99Ms: number;
  /** The longest time between two renewals of one Lease. */
  readonly renewalGapMs: number;
}

export interface QuietAccess {
  readonly url: string;
  /** Of the server. */
  readonly pid: number;
  /** PEM. */
  readonly ca: string;
  readonly tenants: readonly Tenant[];
  readonly elections: readonly Tenant[];
}

export interface Tenant {
  readonly namespace: string;
  /** Of its Lease, or of the object it reads and writes. */
  readonly name: string;
  readonly token: string;
}

type Question = "start" | "stop";

const tenantEveryMs = 500;
const renewEveryMs = 1_000;

export class Quiet {
  readonly #child: ChildProcess;

  constructor(access: QuietAccess) {
    this.#child = bound(fork(import.meta.filename, [JSON.stringify(access)], { execArgv: [] }));
  }

  /** For `ms`, and until the last request is answered. */
  async measure(ms: number): Promise<QuietFigures> {
    await this.#ask("start");
    await sleep(ms);
    return this.#ask("stop");
  }

  close(): void {
    this.#child.disconnect();
  }

  #ask(question: Question): Promise<QuietFigures> {
    return new Promise((resolve, reject) => {
      const gone = (): void => reject(new Error("the tenants' process ended"));
      this.#child.once("exit", gone);
      this.#child.once("message", (answer: QuietFigures) => {
        this.#child.off("exit", gone);
        resolve(answer);
      });
      this.#child.send(question);
    });
  }
}

/** What one measurement has seen. */
class Sample {
  readonly #pid: number;
  readonly #takenMs: number[] = [];
  readonly #readMs: number[] = [];
  readonly #ranMs: number[] = [];
  readonly #renewalMs: number[] = [];
  #refused = 0;
  #failed = 0;
  #gapMs = 0;

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** @returns the answer, unless there was no whole one. */
  async ask(
    f: () => Promise<Answer>,
    isRead = false,
  ): Promise<{ readonly answer?: Answer; readonly ms: number }> {
    const startMs = performance.now();
    const startCpuMs = mainThreadMs(this.#pid);
    const answer = await f().catch(() => undefined);
    this.#ranMs.push(mainThreadMs(this.#pid) - startCpuMs);
    const ms = performance.now() - startMs;
    if (isRead) this.#readMs.push(ms);
    this.#note(answer?.status ?? 0, ms);
    return { ms, ...(answer !== undefined && { answer }) };
  }

  #note(status: number, ms: number): void {
    this.#takenMs.push(ms);
    if (status === 429) this.#refused++;
    else if (status !== 200) this.#failed++;
  }

  /** `gapMs`: since the last one of the same Lease. */
  noteRenewal(ms: number, gapMs: number): void {
    this.#renewalMs.push(ms);
    this.#gapMs = Math.max(this.#gapMs, gapMs);
  }

  figures(): QuietFigures {
    return {
      requests: this.#takenMs.length,
      p50Ms: quantile(this.#takenMs, 0.5),
      p99Ms: quantile(this.#takenMs, 0.99),
      mostMs: Math.max(0, ...this.#takenMs),
      readP99Ms: quantile(this.#readMs, 0.99),
      p99CpuMs: quantile(this.#ranMs, 0.99),
      refused: this.#refused,
      failed: this.#failed,
      renewals: this.#renewalMs.length,
      renewalP99Ms: quantile(this.#renewalMs, 0.99),
      renewalGapMs: this.#gapMs,
    };
  }
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * part)] ?? 0;
}

if (process.argv[1] === import.meta.filename) run(JSON.parse(process.argv[2] ?? "{}"));

function run(access: QuietAccess): void {
  wakeFirst();
  let sample = new Sample(access.pid);
  let isOver = true;
  let asking: readonly Promise<void>[] = [];
  const connect = ({ token }: Tenant): KubeHttp =>
    new KubeHttp({
      server: access.url,
      ca: Buffer.from(access.ca),
      headers: { authorization: `Bearer ${token}` },
    });
  const tenants = access.tenants.map((each) => [each, connect(each)] as const);
  const elections = access.elections.map((each) => [each, connect(each)] as const);
  const isRunning = (): boolean => !isOver;
  const begin = (): void => {
    sample = new Sample(access.pid);
    isOver = false;
    const asTenants = tenants.map(([each, api]) => askOn(api, each, sample, isRunning));
    const asLeaders = elections.map(([each, api]) => renewOn(api, each, sample, isRunning));
    asking = [...asTenants, ...asLeaders];
  };
  const answer = async (question: Question): Promise<void> => {
    if (question === "start") begin();
    else {
      isOver = true;
      await Promise.all(asking);
    }
    process.send?.(sample.figures());
  };
  process.on("message", (question: Question) => void answer(question));
  process.on("disconnect", () => process.exit());
}

/** What runs before an answer is noticed here would count as the answer's. Needs a right that not every user has. */
function wakeFirst(): void {
  try {
    setPriority(-20);
  } catch {
    console.log("  the tenants' process has no priority: its figures are upper bounds");
  }
}

async function askOn(
  api: KubeHttp,
  { namespace, name }: Tenant,
  sample: Sample,
  isRunning: () => boolean,
): Promise<void> {
  const all = `/api/v1/namespaces/${namespace}/configmaps`;
  const updated = { metadata: { name }, data: { text: "x".repeat(500) } };
  const reads = [`${all}/${name}`, all];
  await sleep(Math.random() * tenantEveryMs);
  for (let at = 0; isRunning(); at++) {
    const path = reads[at % (reads.length + 1)];
    if (path !== undefined) await sample.ask(() => api.request("GET", path), true);
    else await sample.ask(() => api.request("PUT", `${all}/${name}`, updated));
    await sleep(tenantEveryMs);
  }
}

/** By the revision that its last answer had, as electors do. */
async function renewOn(
  api: KubeHttp,
  { namespace, name }: Tenant,
  sample: Sample,
  isRunning: () => boolean,
): Promise<void> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
  await sleep(Math.random() * renewEveryMs);
  let lease = (await api.request("GET", path)).body;
  let renewedMs = performance.now();
  while (isRunning()) {
    const { answer, ms } = await sample.ask(() => api.request("PUT", path, renewed(lease)));
    if (answer?.status === 200) {
      lease = answer.body;
      const endMs = performance.now();
      sample.noteRenewal(ms, endMs - renewedMs);
      renewedMs = endMs;
    }
    await sleep(renewEveryMs);
  }
}

function renewed({ metadata, spec }: Json): object {
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  return { metadata, spec: Object.assign({}, spec, { leaseDurationSeconds: 15, renewTime }) };
}

/** 0 where there is no /proc. */
function mainThreadMs(pid: number): number {
  try {
    const [nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
    return Number(nanoseconds) / 1e6;
  } catch {
    return 0;
  }
}
