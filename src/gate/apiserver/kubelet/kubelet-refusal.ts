/** Converts a kubelet's refusal of a log to a Status with upstream's reasons and texts. */
import { badRequest, failure, internalError, type StatusReason } from "#api/status.ts";
import { type ByteResponse, ByteTransportError } from "#platform/byte-transport.ts";

/** Upstream's limit; a longer refusal is left out. */
const refusalBytesMax = 50_000;

/** Accepts statuses 200 to 206. `url`: the requested URL, for messages. @throws ApiError for all others. */
export async function checkStatus(response: ByteResponse, url: string, pod: string): Promise<void> {
  const { status } = response;
  if (status >= 200 && status <= 206) return;
  const text = await refusalText(response);
  if (status < 400) throw failure(500, "", `Get ${JSON.stringify(url)}: redirects forbidden`);
  if (status === 500) throw internalError(text);
  if (status === 400) throw badRequest(text);
  const { reason, message } = statusTexts.get(status) ?? unknownStatus(status, text);
  const said = message === "" ? text : message;
  throw failure(status, reason, `${said} ( pods/log ${pod})`, { name: pod, kind: "pods/log" });
}

async function refusalText(response: ByteResponse): Promise<string> {
  try {
    const body = await response.read(refusalBytesMax);
    return body === "too-large" ? "" : new TextDecoder().decode(body);
  } catch (error) {
    throw error instanceof ByteTransportError ? internalError(error.message) : error;
  }
}

interface StatusText {
  readonly reason: StatusReason;
  /** Text of the Status; "" means the kubelet's own text. */
  readonly message: string;
}

const statusTexts: ReadonlyMap<number, StatusText> = new Map([
  [401, text("Unauthorized", "the server has asked for the client to provide credentials")],
  [403, text("Forbidden", "")],
  [404, text("NotFound", "the server could not find the requested resource")],
  [
    405,
    text("MethodNotAllowed", "the server does not allow this method on the requested resource"),
  ],
  [409, text("Conflict", "the server reported a conflict")],
  [415, text("UnsupportedMediaType", "")],
  [422, text("Invalid", "the server rejected our request due to an error in our request")],
  [
    429,
    text(
      "TooManyRequests",
      "the server has received too many requests and has asked us to try again later",
    ),
  ],
  [503, text("ServiceUnavailable", "the server is currently unable to handle the request")],
  [
    504,
    text(
      "Timeout",
      "the server was unable to return a response in the time allotted, but may still be processing the request",
    ),
  ],
]);

function text(reason: StatusReason, message: string): StatusText {
  return { reason, message };
}

function unknownStatus(status: number, said: string): StatusText {
  if (status >= 500) {
    const message = `an error on the server (${JSON.stringify(said)}) has prevented the request from succeeding`;
    return { reason: "InternalError", message };
  }
  const message = `the server responded with the status code ${status} but did not return more information`;
  return { reason: "", message };
}
