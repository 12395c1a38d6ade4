/**
 * A caller in a namespace of its own that asks for little, forty times a second, in a process of its own: what
 * delays the attackers' process must not delay its clock.
 *
 * Says   how long its answers took by the wall, and what the server's main thread ran meanwhile: others on the machine
 *        change the first, not the second.
 * Asks   over IPC: `start` forgets, and begins; `stop` answers when the last request has ended. Ends with its parent.
 */
import { type ChildProcess, fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type Credentials, KubeHttp } from "../../process/kube-http.ts";
import { bound } from "../../process/bound-child.ts";

export interface QuietAnswer {
  readonly p99Ms: number;
  /** CPU time of the server's main thread from the request until the answer. */
  readonly p99CpuMs: number;
  readonly failed: number;
}

type Question = "start" | "stop";

const everyMs = 25;
const path = "/api/v1/namespaces/default/configmaps";

export class QuietCaller {
  readonly #child: ChildProcess;

  /** `pid`: of the server. */
  constructor(url: string, pid: number, { ca, cert, key }: Credentials, group: string) {
    const headers = { "impersonate-user": "quiet", "impersonate-group": group };
    const [caText, certText, keyText] = [ca, cert, key].map(String);
    const access = JSON.stringify({ url, pid, ca: caText, cert: certText, key: keyText, headers });
    this.#child = bound(fork(import.meta.filename, [access], { execArgv: [] }));
  }

  async during<T>(
    f: () => Promise<T>,
  ): Promise<{ readonly result: T; readonly quiet: QuietAnswer }> {
    await this.#ask("start");
    const result = await f();
    return { result, quiet: await this.#ask("stop") };
  }

  close(): void {
    this.#child.disconnect();
  }

  #ask(question: Question): Promise<QuietAnswer> {
    return new Promise((resolve, reject) => {
      const gone = (): void => reject(new Error("the quiet caller ended"));
      this.#child.once("exit", gone);
      this.#child.once("message", (answer: QuietAnswer) => {
        this.#child.off("exit", gone);
        resolve(answer);
      });
      this.#child.send(question);
    });
  }
}

if (process.argv[1] === import.meta.filename) ask(process.argv[2] ?? "{}");

function ask(access: string): void {
  const { url, pid, ca, cert, key, headers } = JSON.parse(access);
  wakeFirst();
  const api = new KubeHttp({ server: url, ca, cert, key, headers });
  let takenMs: number[] = [];
  let ranMs: number[] = [];
  let failed = 0;
  let asking: Promise<void> | undefined;
  let isOver = false;
  const askOn = async (): Promise<void> => {
    while (!isOver) {
      const startMs = performance.now();
      const startCpuMs = mainThreadMs(pid);
      const { status } = await api.request("GET", path);
      ranMs.push(mainThreadMs(pid) - startCpuMs);
      takenMs.push(performance.now() - startMs);
      if (status !== 200) failed++;
      await sleep(everyMs);
    }
  };
  process.on("message", (question: Question) => void answer(question));
  process.on("disconnect", () => process.exit());
  const answer = async (question: Question): Promise<void> => {
    isOver = question === "stop";
    if (question === "start") {
      takenMs = [];
      ranMs = [];
      asking = askOn();
    } else await asking;
    const answered = { p99Ms: p99(takenMs), p99CpuMs: p99(ranMs), failed };
    process.send?.(answered satisfies QuietAnswer);
  };
}

/** What runs before an answer is noticed here would count as the answer's. Needs a right that not every user has. */
function wakeFirst(): void {
  try {
    setPriority(-20);
  } catch {
    console.log("  the quiet caller has no priority: its CPU figures are upper bounds");
  }
}

function mainThreadMs(pid: number): number {
  const [nanoseconds] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
  return Number(nanoseconds) / 1e6;
}

function p99(takenMs: readonly number[]): number {
  const sorted = takenMs.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.99)] ?? 0;
}
