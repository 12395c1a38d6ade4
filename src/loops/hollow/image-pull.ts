/**
 * Images that cannot be pulled, as the operator names them, and what a kubelet says of one.
 *
 * A pattern is a whole image name in which `*` stands for any text. Cost: one pass over the name per
 * pattern, whatever both are, because every piece between two stars is taken at its first place.
 */
import type { Container } from "#api/gen/types.ts";
import type { PullRun } from "./pod-run.ts";

const patternCharsMax = 256;
const patternsMax = 16;
/** Maximum length of an image name in messages, which repeat it, because the size of a status is limited. */
const shownCharsMax = 255;
const firstMs = 10_000;
const mostMs = 300_000;
/** Time that a failed pull is shown before the back-off: until the kubelet's next sync of the pod. */
const failedMs = 2_000;

export type ImagePatterns = readonly (readonly string[])[];

/** Parses comma separated patterns; "" has none. @throws RangeError beyond the limits. */
export function imagePatterns(text: string): ImagePatterns {
  const patterns = text.split(",").filter((pattern) => pattern !== "");
  if (patterns.length > patternsMax) {
    throw new RangeError(`at most ${patternsMax} image patterns, not ${patterns.length}`);
  }
  for (const pattern of patterns) {
    if (pattern.length > patternCharsMax) {
      throw new RangeError(`an image pattern has at most ${patternCharsMax} characters`);
    }
  }
  return patterns.map((pattern) => pattern.split("*"));
}

export function cannotPull(patterns: ImagePatterns, container: Container): boolean {
  const image = container.image ?? "";
  return patterns.some((pieces) => matches(pieces, image));
}

function matches(pieces: readonly string[], text: string): boolean {
  const [first = "", ...rest] = pieces;
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return at <= text.length - last.length;
}

/** Returns the state after the first failed pull of `failing`; images with policy Never are not pulled again. */
export function firstPull(failing: readonly Container[], nowMs: number): PullRun {
  const isTried = failing.some(({ imagePullPolicy }) => imagePullPolicy !== "Never");
  if (isTried) return failedPull(1, nowMs);
  return { failures: 1, isBackingOff: false, untilMs: Infinity };
}

function failedPull(failures: number, nowMs: number): PullRun {
  return { failures, isBackingOff: false, untilMs: nowMs + failedMs };
}

/** Returns the state after `pull`: the back-off, then the next failed pull. */
export function nextPull(pull: PullRun, nowMs: number): PullRun {
  if (pull.isBackingOff) return failedPull(pull.failures + 1, nowMs);
  const backOffMs = Math.min(mostMs, firstMs * 2 ** Math.min(10, pull.failures - 1));
  return { ...pull, isBackingOff: true, untilMs: nowMs + backOffMs - failedMs };
}

interface Waiting {
  readonly reason: string;
  readonly message: string;
}

/** Returns `state.waiting` of a container whose image cannot be pulled. */
export function pullWaiting(container: Container, pull: PullRun): Waiting {
  const image = shownImage(container);
  if (container.imagePullPolicy === "Never") {
    const message = `Container image "${image}" is not present with pull policy of Never`;
    return { reason: "ErrImageNeverPull", message };
  }
  const error = pullError(image);
  if (!pull.isBackingOff) return { reason: "ErrImagePull", message: error };
  const message = `Back-off pulling image "${image}": ErrImagePull: ${error}`;
  return { reason: "ImagePullBackOff", message };
}

interface PullEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** Returns the kubelet's events for the new state. */
export function pullEvents(container: Container, pull: PullRun): readonly PullEvent[] {
  const image = shownImage(container);
  const { reason, message } = pullWaiting(container, pull);
  const failed: PullEvent = { type: "Warning", reason: "Failed", message: `Error: ${reason}` };
  if (reason === "ErrImageNeverPull") {
    return [{ type: "Warning", reason, message }, failed];
  }
  if (pull.isBackingOff) {
    const text = `Back-off pulling image "${image}"`;
    return [{ type: "Normal", reason: "BackOff", message: text }, failed];
  }
  const text = `Failed to pull image "${image}": ${message}`;
  return [
    { type: "Normal", reason: "Pulling", message: `Pulling image "${image}"` },
    { type: "Warning", reason: "Failed", message: text },
    failed,
  ];
}

function shownImage({ image = "" }: Container): string {
  return image.length > shownCharsMax ? `${image.slice(0, shownCharsMax)}...` : image;
}

/** Returns containerd's message: an unknown host has no address, a known host lacks the image. */
function pullError(image: string): string {
  const name = fullName(image);
  const head = `failed to pull and unpack image "${name}": failed to resolve reference "${name}"`;
  const slash = name.indexOf("/");
  const host = name.slice(0, slash);
  if (!host.startsWith("invalid.")) {
    return `rpc error: code = NotFound desc = ${head}: ${name}: not found`;
  }
  const [path, tag] = splitTag(name.slice(slash + 1));
  const url = `https://${host}/v2/${path}/manifests/${tag}`;
  const lookup = `dial tcp: lookup ${host.split(":")[0]}: no such host`;
  return `rpc error: code = Unknown desc = ${head}: failed to do request: Head "${url}": ${lookup}`;
}

/** Adds registry and tag, as a runtime does: `nginx` becomes `docker.io/library/nginx:latest`. */
function fullName(image: string): string {
  const [path, tag] = splitTag(image);
  const whole = tag === "" ? `${path}:latest` : image;
  const slash = path.indexOf("/");
  if (slash < 0) return `docker.io/library/${whole}`;
  const host = path.slice(0, slash);
  const isHost = host.includes(".") || host.includes(":") || host === "localhost";
  return isHost ? whole : `docker.io/${whole}`;
}

/** Splits off the tag or digest, "" when there is none; a colon before a slash starts a port. */
function splitTag(image: string): readonly [path: string, tag: string] {
  const at = image.indexOf("@");
  if (at >= 0) return [image.slice(0, at), image.slice(at + 1)];
  const colon = image.lastIndexOf(":");
  if (colon < 0 || image.indexOf("/", colon) >= 0) return [image, ""];
  return [image.slice(0, colon), image.slice(colon + 1)];
}
