/**
 * The life of a role that has a process of its own: opened part by part, run until a stop signal or a failure, closed in
 * reverse.
 *
 *   open ─▶ ready (text on standard output) ─▶ stop signal ─▶ closed, "stopped", exit 0
 *     │ fails: closed, rejects                 └ failed: exit 1 at once, nothing more is promised
 *     └ stop signal: closed, "stopped", exit 0
 */
import { Parts, StartStopped } from "./parts.ts";
import { onStopSignal } from "./stop-signal.ts";

/** A role that is running. */
export interface Started {
  /** Text for the operator at that time. */
  readonly text: string;
  /** Resolves when the role cannot continue. Absent: it always can. */
  readonly failed?: Promise<Error>;
}

/** Opens a role into `parts`. `stopping` aborts at the first stop signal. Undefined: it was stopped before it was ready. */
export type OpenRole = (parts: Parts, stopping: AbortSignal) => Promise<Started | undefined>;

interface LifeOptions {
  /** Ends the process, or throws. After a throw the parts are closed, and the role ends with that error. */
  readonly onFailed: (failure: Error) => void;
  /** Calls `stop` at a request to stop. @returns a function that removes the handler. Absent: stop signals. */
  readonly onStop?: (stop: () => void) => () => void;
  /** Prints the text. Absent: to standard output. */
  readonly print?: (text: string) => void;
}

const keepAliveMs = 60_000;

/** Runs a role until it must stop. Rejects with the cause when `open` fails. */
export async function runToEnd(open: OpenRole, options: LifeOptions): Promise<void> {
  const { onFailed, onStop = onStopSignal, print = printOut } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  await using parts = new Parts({ stopping: signal });
  await parts.open("stop-signals", () => onStop(() => stopping.abort()), {
    close: (forget) => forget(),
  });
  // The platform's timers do not keep a process alive, and nothing else does so until the role listens.
  await parts.open("keep-alive", () => setInterval(() => {}, keepAliveMs), {
    close: (timer) => clearInterval(timer),
  });
  const started = await startedOrStopped(open, parts, signal);
  if (started !== undefined) {
    print(started.text);
    const failure = await Promise.race([untilAborted(signal), started.failed ?? never]);
    if (failure !== undefined) return onFailed(failure);
  }
  await parts[Symbol.asyncDispose]();
  print("stopped\n");
}

function printOut(text: string): void {
  process.stdout.write(text);
}

const never = new Promise<never>(() => {});

/** For a role without own state: its parts are closed, then the failure is reported. */
export function throwFailure(failure: Error): never {
  throw failure;
}

async function startedOrStopped(
  open: OpenRole,
  parts: Parts,
  signal: AbortSignal,
): Promise<Started | undefined> {
  try {
    return await open(parts, signal);
  } catch (error) {
    if (error instanceof StartStopped) return undefined;
    throw error;
  }
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true }),
  );
}
