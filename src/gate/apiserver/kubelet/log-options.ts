/**
 * PodLogOptions: read from a query, checked, and written as the kubelet's query; texts are upstream's.
 *
 * `stream` behaves as with upstream's feature gate PodLogsQuerySplitStreams, which is off by default. It is passed on
 * only when the client gave it, because a kubelet without the gate refuses it.
 */
import { int64Max } from "#api/go/go-integer.ts";
import { badRequest, type FieldError, invalid } from "#api/status.ts";
import { formatTime, parseTime } from "#api/values/time.ts";
import { forbiddenField, invalidValue, notSupported } from "#api/validation/errors.ts";
import { isTrue } from "#server/request-info.ts";

interface LogOptions {
  /** Name of the container; "" means the only one. */
  readonly container: string;
  readonly follow: boolean;
  readonly skipsVerification: boolean;
  /** Query of the request to the kubelet. */
  readonly query: string;
}

const streams = ["All", "Stderr", "Stdout"];

/** `pod`: the pod's name, for the 422. @throws ApiError 400, 422. */
export function logOptions(query: URLSearchParams, pod: string): LogOptions {
  const follow = isTrue(query.get("follow"));
  const sinceSeconds = int64(query, "sinceSeconds");
  const sinceTime = timeOf(query.get("sinceTime"));
  const tailLines = int64(query, "tailLines");
  const limitBytes = int64(query, "limitBytes");
  const stream = query.get("stream") ?? undefined;
  const findings = [
    ...(tailLines !== undefined && tailLines < 0n ? [negative("tailLines", tailLines)] : []),
    ...atLeastOne("limitBytes", limitBytes),
    ...(sinceTime === undefined
      ? atLeastOne("sinceSeconds", sinceSeconds)
      : sinceSeconds === undefined
        ? []
        : [forbiddenField("", "at most one of `sinceTime` or `sinceSeconds` may be specified")]),
    ...streamFindings(stream, tailLines),
  ];
  if (findings.length > 0) throw invalid({ group: "", kind: "PodLogOptions" }, pod, findings);
  const sent = new URLSearchParams();
  if (follow) sent.set("follow", "true");
  if (limitBytes !== undefined) sent.set("limitBytes", String(limitBytes));
  if (isTrue(query.get("previous"))) sent.set("previous", "true");
  if (sinceSeconds !== undefined) sent.set("sinceSeconds", String(sinceSeconds));
  if (sinceTime !== undefined) sent.set("sinceTime", formatTime(sinceTime));
  if (stream !== undefined) sent.set("stream", stream);
  if (tailLines !== undefined) sent.set("tailLines", String(tailLines));
  if (isTrue(query.get("timestamps"))) sent.set("timestamps", "true");
  const skipsVerification = isTrue(query.get("insecureSkipTLSVerifyBackend"));
  const container = query.get("container") ?? "";
  return { container, follow, skipsVerification, query: sent.toString() };
}

function streamFindings(stream: string | undefined, tailLines: bigint | undefined): FieldError[] {
  if (stream === undefined) return [];
  const findings = streams.includes(stream) ? [] : [notSupported("stream", stream, streams)];
  if (stream !== "All" && tailLines !== undefined)
    findings.push(
      forbiddenField("", "`tailLines` and specific `stream` are mutually exclusive for now"),
    );
  return findings;
}

function negative(field: string, value: bigint): FieldError {
  return invalidValue(field, shownNumber(value), "must be greater than or equal to 0");
}

function atLeastOne(field: string, value: bigint | undefined): FieldError[] {
  if (value === undefined || value >= 1n) return [];
  return [invalidValue(field, shownNumber(value), "must be greater than 0")];
}

/** Number in a message. Only numbers below 1 are shown; a loss of precision beyond 2^53 is accepted. */
function shownNumber(value: bigint): number {
  return Number(value);
}

/** Parses like strconv.ParseInt(text, 10, 64). @throws ApiError 400. */
function int64(query: URLSearchParams, name: string): bigint | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const quoted = JSON.stringify(text);
  if (!/^[+-]?\d+$/.test(text))
    throw badRequest(`strconv.ParseInt: parsing ${quoted}: invalid syntax`);
  // 2^63 has 19 digits; longer texts are not parsed, because they may be megabytes.
  const digits = text.replace(/^[+-]?0*(?=\d)/, "");
  const magnitude = digits.length > 19 ? int64Max + 2n : BigInt(digits);
  const isNegative = text.startsWith("-");
  if (magnitude > int64Max + (isNegative ? 1n : 0n))
    throw badRequest(`strconv.ParseInt: parsing ${quoted}: value out of range`);
  return isNegative ? -magnitude : magnitude;
}

/** Time in ms, parsed like metav1.Time in a query: "" and `null` are the zero time. */
function timeOf(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (text === "" || text === "null") return zeroTime;
  const timeMs = parseTime(text);
  if (timeMs !== undefined) return timeMs;
  const layout = "2006-01-02T15:04:05Z07:00";
  throw badRequest(
    `parsing time ${JSON.stringify(text)} as "${layout}": cannot parse ${JSON.stringify(text)} as "2006"`,
  );
}

const zeroTime = Date.parse("0001-01-01T00:00:00Z");
