/** One GET over HTTP/1.1 with a bearer token, by a client that asks for no certificate. */
import { request } from "node:https";

export function fetchWith(
  url: string,
  path: string,
  token: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const authorization = token === "" ? {} : { authorization: `Bearer ${token}` };
    const options = { rejectUnauthorized: false, headers: { ...authorization, ...headers } };
    const sent = request(`${url}${path}`, options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const status = response.statusCode ?? 0;
        const body = status === 304 ? null : Buffer.concat(chunks);
        const flat = Object.entries(response.headers).map(
          ([k, v]) => [k, String(v)] as [string, string],
        );
        resolve(new Response(body, { status, headers: flat }));
      });
    });
    sent.on("error", reject);
    sent.end();
  });
}
