/** Converts the options of exec, attach and port-forward from a client's query to the kubelet's. */
import { badRequest } from "#api/status.ts";
import { isTrue } from "#server/request-info.ts";

export type StreamKind = "exec" | "attach" | "portforward";

export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export function streamOptions(query: URLSearchParams): StreamOptions {
  return {
    stdin: isTrue(query.get("stdin")),
    stdout: isTrue(query.get("stdout")),
    stderr: isTrue(query.get("stderr")),
    tty: isTrue(query.get("tty")),
  };
}

/** Query with the kubelet's names, sorted as Go sorts them. @throws ApiError 400 for an invalid port. */
export function kubeletQuery(kind: StreamKind, query: URLSearchParams): string {
  const sent = new URLSearchParams();
  if (kind === "portforward") {
    const ports = query.getAll("ports").flatMap((text) => text.split(",").map(portOf));
    if (ports.length > 0) sent.set("port", ports.join(","));
    return sent.toString();
  }
  if (kind === "exec") for (const part of query.getAll("command")) sent.append("command", part);
  const { stdin, stdout, stderr, tty } = streamOptions(query);
  if (stderr) sent.set("error", "1");
  if (stdin) sent.set("input", "1");
  if (stdout) sent.set("output", "1");
  if (tty) sent.set("tty", "1");
  return sent.toString();
}

function portOf(text: string): number {
  const value = Number(text);
  if (/^\d{1,5}$/.test(text) && value <= 65_535) return value;
  const fault = /^\d+$/.test(text) ? "value out of range" : "invalid syntax";
  const what = `strconv.ParseUint: parsing ${JSON.stringify(text)}: ${fault}`;
  throw badRequest(`cannot convert to []int32: ${what}`);
}
