/** Probes and lifecycle hooks: exactly one handler each, with the rules of that handler. */
import type { FieldError } from "../status.ts";
import type { Fields } from "./fields.ts";
import { count, items, maybe, maybeInteger, maybeNumber, number, text } from "./fields.ts";
import {
  child,
  forbiddenField,
  invalidEach,
  invalidValue,
  notSupported,
  required,
  append,
} from "./errors.ts";
import { checkNonNegative, checkPort, httpHeaderErrors } from "./text.ts";

const schemes = ["HTTP", "HTTPS"];
const probeCounts = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
];

export function checkLivenessProbe(
  out: FieldError[],
  probe: Fields | undefined,
  path: string,
): void {
  if (probe === undefined) return;
  checkProbe(out, probe, path);
  const threshold = number(probe, "successThreshold");
  if (threshold !== 1)
    out.push(invalidValue(child(path, "successThreshold"), threshold, "must be 1"));
}

export function checkReadinessProbe(
  out: FieldError[],
  probe: Fields | undefined,
  path: string,
): void {
  if (probe === undefined) return;
  checkProbe(out, probe, path);
  const grace = maybeInteger(probe, "terminationGracePeriodSeconds");
  if (grace === undefined) return;
  const at = child(path, "terminationGracePeriodSeconds");
  out.push(invalidValue(at, grace, "must not be set for readinessProbes"));
}

function checkProbe(out: FieldError[], probe: Fields, path: string): void {
  checkHandler(out, probe, ["exec", "httpGet", "tcpSocket", "grpc"], { path, grace: undefined });
  for (const field of probeCounts) {
    checkNonNegative(out, maybeNumber(probe, field), child(path, field));
  }
  const grace = maybeInteger(probe, "terminationGracePeriodSeconds");
  if (grace === undefined || grace > 0) return;
  out.push(
    invalidValue(child(path, "terminationGracePeriodSeconds"), grace, "must be greater than 0"),
  );
}

export function checkLifecycle(
  out: FieldError[],
  lifecycle: Fields | undefined,
  grace: number | undefined,
  path: string,
): void {
  if (lifecycle === undefined) return;
  for (const hook of ["postStart", "preStop"]) {
    const handler = maybe(lifecycle, hook);
    if (handler === undefined) continue;
    const at = { path: child(path, hook), grace };
    checkHandler(out, handler, ["exec", "httpGet", "tcpSocket", "sleep"], at);
  }
}

function checkHandler(
  out: FieldError[],
  holder: Fields,
  kinds: readonly string[],
  at: { readonly path: string; readonly grace: number | undefined },
): void {
  let found = 0;
  for (const kind of kinds) {
    const handler = maybe(holder, kind);
    if (handler === undefined) continue;
    found += 1;
    const here = child(at.path, kind);
    if (found > 1) out.push(forbiddenField(here, "may not specify more than 1 handler type"));
    else checkAction(out, kind, handler, { path: here, grace: at.grace });
  }
  if (found === 0) out.push(required(at.path, "must specify a handler type"));
}

function checkAction(
  out: FieldError[],
  kind: string,
  action: Fields,
  at: { readonly path: string; readonly grace: number | undefined },
): void {
  const { path, grace } = at;
  if (kind === "exec") {
    if (count(action, "command") === 0) out.push(required(child(path, "command")));
  } else if (kind === "httpGet") checkHttpGet(out, action, path);
  else if (kind === "sleep") checkSleep(out, number(action, "seconds"), grace, path);
  else checkPort(out, action["port"], child(path, "port"));
}

function checkHttpGet(out: FieldError[], action: Fields, path: string): void {
  if (text(action, "path") === "") out.push(required(child(path, "path")));
  checkPort(out, action["port"], child(path, "port"));
  const scheme = text(action, "scheme");
  if (!schemes.includes(scheme)) out.push(notSupported(child(path, "scheme"), scheme, schemes));
  for (const header of items(action, "httpHeaders")) {
    const name = text(header, "name");
    append(out, invalidEach(child(path, "httpHeaders"), name, httpHeaderErrors(name)));
  }
}

function checkSleep(
  out: FieldError[],
  seconds: number,
  grace: number | undefined,
  path: string,
): void {
  if (grace === undefined || (seconds >= 0 && seconds <= grace)) return;
  const detail = `must be non-negative and less than terminationGracePeriodSeconds (${grace})`;
  out.push(invalidValue(path, seconds, detail));
}
