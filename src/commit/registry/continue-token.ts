/**
 * Continue tokens in upstream's form: unpadded base64url of {"v":"meta.k8s.io/v1","rv":N,"start":K}.
 *
 * `start` is the first key not yet served, within the listed prefix. Tokens carry it with a leading slash, like a
 * stock server's; it is read with and without the slash. rv -1 means "continue at the
 * latest revision": a client gets such a token with the 410 for an expired token.
 */
import { badRequest } from "#api/status.ts";

const version = "meta.k8s.io/v1";

/** The `rv` of a token that continues at the latest revision. */
export const latestRevision = -1;

interface ContinueToken {
  readonly revision: number;
  readonly start: string;
}

export function encodeContinue(token: ContinueToken): string {
  const text = JSON.stringify({ v: version, rv: token.revision, start: `/${token.start}` });
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Throws 400 with upstream's texts. */
export function decodeContinue(token: string): ContinueToken {
  const data = decodeContinueJson(token);
  if (data.v !== version) {
    throw invalidToken(
      `continue key is not valid: server does not recognize this encoded version ${data.v}`,
    );
  }
  if (!Number.isSafeInteger(data.rv) || data.rv === 0 || data.rv < latestRevision) {
    throw invalidToken(
      "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
    );
  }
  if (data.start === "") {
    throw invalidToken(
      "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)",
    );
  }
  const start = data.start.startsWith("/") ? data.start.slice(1) : data.start;
  if (!isCleanPath(start)) throw invalidToken(`continue key is not valid: ${data.start}`);
  return { revision: data.rv, start };
}

function decodeContinueJson(token: string): { v: string; rv: number; start: string } {
  const bad = /[^A-Za-z0-9_-]/.exec(token);
  if (bad !== null) {
    throw invalidToken(`continue key is not valid: illegal base64 data at input byte ${bad.index}`);
  }
  try {
    const text = atob(token.replaceAll("-", "+").replaceAll("_", "/"));
    const { v, rv, start } = JSON.parse(text) as { v?: unknown; rv?: unknown; start?: unknown };
    return {
      v: typeof v === "string" ? v : "",
      rv: typeof rv === "number" ? rv : 0,
      start: typeof start === "string" ? start : "",
    };
  } catch {
    throw invalidToken("continue key is not valid: not the encoding of a token");
  }
}

/** The start key must stay inside the listed prefix, because a client may forge the token. */
function isCleanPath(start: string): boolean {
  const parts = start.split("/");
  return parts.every((part) => part !== "" && part !== "." && part !== "..");
}

function invalidToken(why: string): Error {
  return badRequest(`invalid continue token: ${why}`);
}
