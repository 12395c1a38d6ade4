/**
 * How an audit line is written: one JSON object of bounded length.
 *
 * Level  what upstream calls Metadata: no body, and of admission's annotations none that holds a part of
 *        one (`patch.webhook.admission.k8s.io/`, which upstream keeps from level Request on).
 * Bounds a text, a path or a query among them, is cut at `textMax`, of a request without credentials at
 *        `strangerTextMax`, a user agent at upstream's `userAgentMax`; a list at `itemsMax`. What is cut
 *        ends in upstream's "...TRUNCATED". Annotations are bounded where they are taken.
 */
import { type AuditLine, isStranger } from "./audit.ts";

const textMax = 8 * 1024;
const strangerTextMax = 1_024;
const userAgentMax = 1_024;
const itemsMax = 128;
const cutMark = "...TRUNCATED";
const plainMax = strangerTextMax;
const plainLineMax = 4 * 1024;
const belowRequest = ["patch.webhook.admission.k8s.io/"];

export function auditText(line: AuditLine): string {
  const { annotations, ...rest } = line;
  const text = boundedText(rest, isStranger(line) ? strangerTextMax : textMax);
  const told = annotations === undefined ? undefined : annotationsOf(annotations);
  return told === undefined ? text : `${text.slice(0, -1)},"annotations":${JSON.stringify(told)}}`;
}

/** Most lines are short, and need no look at each of their parts. */
function boundedText(line: Omit<AuditLine, "annotations">, max: number): string {
  const { info, query, userAgent } = line;
  if (info.path.length + query.length + userAgent.length > plainMax) return cutText(line, max);
  const text = JSON.stringify(line);
  return text.length <= plainLineMax ? text : cutText(line, max);
}

function cutText(line: object, max: number): string {
  return JSON.stringify(line, (key, value: unknown) => {
    if (typeof value === "string") return cut(value, key === "userAgent" ? userAgentMax : max);
    if (Array.isArray(value) && value.length > itemsMax)
      return [...value.slice(0, itemsMax), cutMark];
    return value;
  });
}

/** Of well-formed text the cut leaves well-formed text. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}${cutMark}`;
}

function annotationsOf(
  annotations: ReadonlyMap<string, string>,
): Readonly<Record<string, string>> | undefined {
  const told = [...annotations].filter(([key]) => !belowRequest.some((one) => key.startsWith(one)));
  return told.length === 0 ? undefined : Object.fromEntries(told);
}
