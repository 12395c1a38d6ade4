/** Who a request is from, told to the server behind by this front proxy's headers (X-Remote-*), as upstream writes them. */
import type { UserInfo } from "#platform/http.ts";

const encoder = new TextEncoder();

/** One value per line: groups may hold commas. */
export function identityHeaders(user: UserInfo): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = { "x-remote-user": user.name };
  if (user.uid !== undefined && user.uid !== "") headers["x-remote-uid"] = user.uid;
  if (user.groups.length > 0) headers["x-remote-group"] = user.groups;
  for (const [key, values] of Object.entries(user.extra ?? {})) {
    if (values.length > 0) headers[`x-remote-extra-${escapedKey(key)}`] = values;
  }
  return headers;
}

/** What may stand in a header's name (RFC 9110 token) but for the percent sign, which escapes the rest. */
const legal = /[!#$&'*+\-.0-9A-Z^_`a-z|~]/;

function escapedKey(key: string): string {
  const bytes = encoder.encode(key);
  return Array.from(bytes, (byte) => {
    const character = String.fromCharCode(byte);
    if (legal.test(character)) return character;
    return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}
