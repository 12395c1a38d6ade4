/** Sends the requests of audit-requests.ts one after the other, each to its end. */
import https from "node:https";
import type { AuditedRequest } from "./audit-requests.ts";

export interface Audited {
  readonly status: number;
  readonly auditId: string;
  readonly text: string;
}

export async function sendAudited(
  url: string,
  requests: readonly AuditedRequest[],
): Promise<readonly Audited[]> {
  const agent = new https.Agent({ keepAlive: false, rejectUnauthorized: false });
  const answers: Audited[] = [];
  for (const request of requests) answers.push(await send(url, agent, request));
  agent.destroy();
  return answers;
}

function send(
  url: string,
  agent: https.Agent,
  { method, path, body, type = "application/json", as = "tok", headers = {} }: AuditedRequest,
): Promise<Audited> {
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const own = {
    "user-agent": "tester",
    accept: "application/json",
    ...(as === "" ? {} : { authorization: `Bearer ${as}` }),
    ...(text === undefined
      ? {}
      : { "content-type": type, "content-length": Buffer.byteLength(text) }),
    ...headers,
  };
  return new Promise((resolve, reject) => {
    const sending = https.request(`${url}${path}`, { method, agent, headers: own }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          auditId: String(response.headers["audit-id"] ?? ""),
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    sending.on("error", reject);
    sending.end(text);
  });
}
