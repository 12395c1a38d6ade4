/** Headers of this front proxy (X-Remote-*) that name the request's user to the remote server, as upstream writes them. */
import type { UserInfo } from "#platform/http.ts";

const encoder = new TextEncoder();

/** Returns one value per line, because groups may contain commas. */
export function identityHeaders(user: UserInfo): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = { "x-remote-user": user.name };
  if (user.uid !== undefined && user.uid !== "") headers["x-remote-uid"] = user.uid;
  if (user.groups.length > 0) headers["x-remote-group"] = user.groups;
  for (const [key, values] of Object.entries(user.extra ?? {})) {
    if (values.length > 0) headers[`x-remote-extra-${escapedKey(key)}`] = values;
  }
  return headers;
}

/** Characters permitted in a header's name (RFC 9110 token), except the percent sign, which escapes all others. */
const legal = /[!#$&'*+\-.0-9A-Z^_`a-z|~]/;

function escapedKey(key: string): string {
  const bytes = encoder.encode(key);
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    if (legal.test(character)) return character;
    return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}
