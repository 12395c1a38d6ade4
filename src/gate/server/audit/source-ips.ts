/** Source addresses of a request, as upstream lists them: those that proxies claim, then that of the connection. */
import { isIP } from "node:net";
import type { PlainRequest } from "#platform/http.ts";

/** Maximum number of claimed addresses, which any client can send. */
const claimsMax = 16;

export function sourceIps({
  headers,
  peer,
}: Pick<PlainRequest, "headers" | "peer">): readonly string[] {
  if (peer.kind !== "socket") return [];
  const forwarded = headers["x-forwarded-for"];
  const realIp = (headers["x-real-ip"] ?? "").trim();
  if (forwarded === undefined && realIp === "") return [peer.address];
  const chain = (forwarded ?? "")
    .split(",", claimsMax)
    .map((part) => part.trim())
    .filter((part) => isIP(part) !== 0);
  if (isIP(realIp) !== 0 && !chain.includes(realIp)) chain.push(realIp);
  if (chain.at(-1) !== peer.address) chain.push(peer.address);
  return chain;
}
