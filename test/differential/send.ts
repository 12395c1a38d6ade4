/** One raw request to one of the two servers, by node:https on purpose: no client library is in between. */
import https from "node:https";
import type { IncomingMessage } from "node:http";
import type { Step } from "./exchange.ts";

export interface Target {
  /** `https://127.0.0.1:6443`. */
  readonly url: string;
  readonly agent: https.Agent;
  /** Sent with every request: how this server knows the caller as an administrator. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Between two steps whose reviews are recorded. A stock server updates what its cache holds: a write on the
   * heels of another may be tried again, and its webhooks asked again.
   */
  readonly settleMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headersDistinct"];
  readonly text: string;
}

/** No answer takes longer; a stream that is not ended by then is cut and says so. */
const requestMs = 8_000;

export async function send(target: Target, step: Step): Promise<Answer> {
  const response = await begin(target, step, AbortSignal.timeout(requestMs));
  response.setEncoding("utf8");
  let text = "";
  try {
    for await (const chunk of response) text += chunk as string;
  } catch {
    text += "(stays open)";
  }
  return { status: response.statusCode ?? 0, headers: response.headersDistinct, text };
}

export function begin(target: Target, step: Step, signal: AbortSignal): Promise<IncomingMessage> {
  const { body, type = "application/json" } = step;
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const bytes =
    text === undefined ? undefined : Buffer.from(text, step.isBinary === true ? "latin1" : "utf8");
  const headers: Record<string, string> = {
    "user-agent": "differential/1",
    ...target.headers,
    ...(text === undefined || type === "" ? {} : { "content-type": type }),
    ...(bytes === undefined ? {} : { "content-length": String(bytes.length) }),
    ...step.headers,
  };
  return new Promise((resolve, reject) => {
    const request = https.request(
      target.url + step.path,
      { method: step.method, headers, agent: target.agent, signal },
      resolve,
    );
    request.on("error", reject);
    request.end(bytes);
  });
}

// The compiler's library does not know the third argument yet; the runtime does.
const json = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
};

/** Numbers that JavaScript prints otherwise than they stand there are kept as texts: every digit is compared. */
export function parsed(text: string): unknown {
  try {
    return json.parse(text, (_key, value, { source }) =>
      typeof value === "number" && source !== undefined && String(value) !== source
        ? `<number ${source}>`
        : value,
    );
  } catch {
    return undefined;
  }
}
