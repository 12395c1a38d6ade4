/** Header lines that must not be joined: a group's name may hold a comma. */
import { dictionary } from "#base/own.ts";
import type { Peer, PlainRequest } from "../../http.ts";
import { textOf } from "./header-text.ts";

const prefix = "impersonate-";

/** `raw`: names and values in turn, as received. The result is empty without such headers, as in most requests. */
export function impersonateLines(
  raw: readonly string[],
): Pick<PlainRequest, "impersonateLines"> | undefined {
  let lines: Record<string, string[]> | undefined;
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at] ?? "";
    if (!isImpersonation(name)) continue;
    lines ??= {};
    (lines[name.toLowerCase()] ??= []).push(textOf(raw[at + 1] ?? ""));
  }
  return lines === undefined ? undefined : { impersonateLines: lines };
}

/** Tests the first letter first, because most names differ there already. */
function isImpersonation(name: string): boolean {
  const first = name.charCodeAt(0) | 0x20;
  return first === 0x69 && name.slice(0, prefix.length).toLowerCase() === prefix;
}

/** Header lines of a front proxy, whose headers name users; for other peers nothing is kept. */
export function frontProxyLines(
  peer: Peer,
  raw: readonly string[],
): Pick<PlainRequest, "headerLines"> | undefined {
  if (peer.kind !== "socket" || peer.proxyCertificate === undefined) return undefined;
  const headerLines = dictionary<string[]>();
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] ?? "").toLowerCase();
    (headerLines[name] ??= []).push(textOf(raw[at + 1] ?? ""));
  }
  return { headerLines };
}
