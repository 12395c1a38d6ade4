/**
 * One client with many whole lists in flight: when one is answered, or refused, it asks for the next. In a process of its own.
 *
 * Says over IPC, when asked: how many were answered and refused so far. Ends with its parent.
 */
import { type ChildProcess, fork } from "node:child_process";
import { type ClientHttp2Session, connect } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { bound } from "../bound-child.ts";

export interface FloodAccess {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
  readonly token: string;
  readonly path: string;
  readonly inFlight: number;
}

export interface FloodFigures {
  readonly answered: number;
  readonly refused: number;
  readonly bytes: number;
}

const connections = 4;
/** A client that is refused and asks again at once would measure refusals. Retry-After says one second at least. */
const refusedPauseMs = 1_000;

export class Flood {
  readonly #child: ChildProcess;

  constructor(access: FloodAccess) {
    this.#child = bound(fork(import.meta.filename, [JSON.stringify(access)], { execArgv: [] }));
  }

  figures(): Promise<FloodFigures> {
    return new Promise((resolve, reject) => {
      const gone = (): void => reject(new Error("the flood's process ended"));
      this.#child.once("exit", gone);
      this.#child.once("message", (answer: FloodFigures) => {
        this.#child.off("exit", gone);
        resolve(answer);
      });
      this.#child.send("figures");
    });
  }

  async stop(): Promise<void> {
    const exited = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGKILL");
    await exited;
  }
}

if (process.argv[1] === import.meta.filename) run(JSON.parse(process.argv[2] ?? "{}"));

function run({ url, ca, token, path, inFlight }: FloodAccess): void {
  const figures = { answered: 0, refused: 0, bytes: 0 };
  const settings = { initialWindowSize: 2 ** 22 };
  const sessions = Array.from({ length: connections }, () =>
    connect(url, { ca, settings }).on("error", () => {}),
  );
  const askOn = async (session: ClientHttp2Session): Promise<void> => {
    for (;;) {
      const { status, bytes } = await ask(session, path, token);
      figures.bytes += bytes;
      if (status === 200) figures.answered++;
      else {
        figures.refused++;
        await sleep(refusedPauseMs);
      }
    }
  };
  for (let at = 0; at < inFlight; at++) {
    const session = sessions[at % connections];
    if (session !== undefined) void askOn(session);
  }
  process.on("message", () => process.send?.(figures satisfies FloodFigures));
  process.on("disconnect", () => process.exit());
}

/** Status 0: the stream was cut. */
function ask(
  session: ClientHttp2Session,
  path: string,
  token: string,
): Promise<{ status: number; bytes: number }> {
  return new Promise((resolve) => {
    let status = 0;
    let bytes = 0;
    const stream = session.request({ ":path": path, authorization: `Bearer ${token}` });
    stream.on("response", (headers) => (status = Number(headers[":status"])));
    stream.on("data", (chunk: Buffer) => (bytes += chunk.length));
    stream.on("error", () => {});
    stream.on("close", () => resolve({ status, bytes }));
  });
}
