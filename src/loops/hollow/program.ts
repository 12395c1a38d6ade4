/**
 * What the containers of a hollow pod would do: run for ever, or exit after a time with a code.
 *
 * Annotations decide; else the restart policy; else what can be read off the command line of the first
 * container (`sleep 30`, `exit 1`, `tail -f`): enough for the Jobs that tests and people write. Nothing
 * is run: a script that takes its exit code from its environment (JOB_COMPLETION_INDEX) is beyond it.
 */
import type { Container, Pod } from "#api/gen/types.ts";

export interface Program {
  /** Run time. Undefined: the program runs until it is killed. */
  readonly runMs: number | undefined;
  readonly exitCode: number;
  readonly startMs: number;
  /** Time from the deletion to the end. Undefined: no annotation sets it; see pod-stop.ts. */
  readonly stopMs: number | undefined;
  /** Stop time of containers that end as soon as they are signalled. */
  readonly quickStopMs: number;
}

const programAnnotations = {
  /** Seconds until the containers exit. */
  run: "pilothouse.dev/run-seconds",
  exitCode: "pilothouse.dev/exit-code",
  /** Seconds from bound to running. */
  start: "pilothouse.dev/start-seconds",
  /** Seconds from deletion to the end, at most the grace period. */
  stop: "pilothouse.dev/stop-seconds",
} as const;

interface ProgramDefaults {
  readonly startMs: number;
  readonly stopMs: number;
  readonly jobMs: number;
}

export function programOf(pod: Pod, defaults: ProgramDefaults): Program {
  const annotations = pod.metadata?.annotations ?? {};
  const seconds = (name: string): number | undefined => millis(annotations[name]);
  const guessed = guess(pod, defaults.jobMs);
  const code = Number(annotations[programAnnotations.exitCode] ?? guessed.exitCode);
  return {
    runMs: seconds(programAnnotations.run) ?? guessed.runMs,
    exitCode: Number.isInteger(code) && code >= 0 && code <= 255 ? code : 1,
    startMs: seconds(programAnnotations.start) ?? defaults.startMs,
    stopMs: seconds(programAnnotations.stop),
    quickStopMs: defaults.stopMs,
  };
}

function millis(seconds: string | undefined): number | undefined {
  const value = seconds === undefined || seconds === "" ? Number.NaN : Number(seconds);
  return value >= 0 ? value * 1_000 : undefined;
}

interface Guess {
  readonly runMs: number | undefined;
  readonly exitCode: number;
}

const forEver: Guess = { runMs: undefined, exitCode: 0 };

function guess(pod: Pod, jobMs: number): Guess {
  const [container] = pod.spec?.containers ?? [];
  // A container has its own restart policy only when it is meant to end.
  const ownPolicy = container?.restartPolicy;
  if (ownPolicy === undefined && (pod.spec?.restartPolicy ?? "Always") === "Always") return forEver;
  const line = lineOf(container);
  const image = container?.image ?? "";
  if (line === "" && /\b(pause|agnhost|nginx|httpd)\b/.test(image)) return forEver;
  return guessOf(line, jobMs);
}

/** Returns the run of an init container, which ends at once when its command line gives no other indication. */
export function initProgramOf(container: Container): Guess {
  return guessOf(lineOf(container), 0);
}

function lineOf(container: Container | undefined): string {
  return [...(container?.command ?? []), ...(container?.args ?? [])].join(" ");
}

function guessOf(line: string, jobMs: number): Guess {
  if (/sleep\s+inf|tail\s+-f|\bpause\b|while\s+(true|:)/.test(line)) return forEver;
  const sleep = /\bsleep\s+([0-9]+(?:\.[0-9]+)?)/.exec(line);
  const exit = /\bexit\s+([0-9]{1,3})\b/.exec(line);
  const failing = /(^|\/|\s)false$/.test(line);
  return {
    runMs: sleep === null ? jobMs : Number(sleep[1]) * 1_000,
    exitCode: exit === null ? (failing ? 1 : 0) : Number(exit[1]) % 256,
  };
}
