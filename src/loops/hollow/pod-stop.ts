/**
 * How long the containers of a deleted pod go on: what a kubelet waits for between SIGTERM and SIGKILL.
 *
 * A container that would not hear SIGTERM (a shell or `sleep` as process 1) takes its whole grace
 * period, one with a preStop hook the hook's time, agnhost its `--delay-shutdown`. A grace period other
 * than the default was asked for by somebody: it is used up. Everything else ends after `stopMs`.
 */
import type { Container, Pod } from "#api/gen/types.ts";
import { isSidecar, secondsOf } from "./pod-run.ts";
import type { Program } from "./program.ts";

const defaultGraceSeconds = 30;

/** Returns the time from the deletion to the end, in ms; at most the present grace period. */
export function stopMsOf(pod: Pod, program: Program): number {
  const graceMs = secondsOf(pod.metadata?.deletionGracePeriodSeconds) * 1_000;
  const wantedMs = program.stopMs ?? longestStop(pod, graceMs, program.quickStopMs);
  return Math.min(graceMs, wantedMs);
}

function longestStop(pod: Pod, graceMs: number, quickMs: number): number {
  if (graceMs !== defaultGraceSeconds * 1_000) return graceMs;
  let longestMs = 0;
  for (const container of pod.spec?.containers ?? []) {
    longestMs = Math.max(longestMs, hookMs(container) + termMs(container, graceMs, quickMs));
  }
  let sidecarMs = 0;
  for (const container of pod.spec?.initContainers ?? []) {
    if (isSidecar(container)) sidecarMs = Math.max(sidecarMs, hookMs(container));
  }
  return longestMs + sidecarMs;
}

function hookMs(container: Container): number {
  const hook = container.lifecycle?.preStop;
  if (hook?.sleep !== undefined) return secondsOf(hook.sleep.seconds) * 1_000;
  const sleep = sleepSeconds(hook?.exec?.command?.join(" ") ?? "");
  return sleep === undefined ? 0 : sleep * 1_000;
}

function termMs(container: Container, graceMs: number, quickMs: number): number {
  const line = [...(container.command ?? []), ...(container.args ?? [])].join(" ");
  const delay = /--delay-shutdown[= ]([0-9]{1,9})\b/.exec(line);
  if (delay !== null) return Number(delay[1]) * 1_000;
  return ignoresTerm(line) ? graceMs : quickMs;
}

/** Whether the program ignores SIGTERM: as process 1, a shell or `sleep` without a trap has no default action for it. */
function ignoresTerm(line: string): boolean {
  if (/\btrap\b|\bexec\b/.test(line)) return false;
  return /^(\/usr)?(\/bin\/)?(sleep|tail|(ba|da|a)?sh)\b/.test(line);
}

function sleepSeconds(line: string): number | undefined {
  const sleep = /\bsleep\s+([0-9]{1,12}(?:\.[0-9]{1,9})?)/.exec(line);
  return sleep === null ? undefined : Number(sleep[1]);
}
