/**
 * Continue tokens in upstream's form (unpadded base64url of {"v","rv","start"}), so that a list begun
 * here continues at another replica or at the upstream itself, and the other way round. `start` has a
 * leading slash in tokens of a stock server and none in older ones; all servers read both.
 */
const version = "meta.k8s.io/v1";

interface ContinueToken {
  readonly revision: number;
  /** First key not served yet, relative to the prefix of the list. */
  readonly start: string;
}

export function encodeContinue(token: ContinueToken): string {
  const text = JSON.stringify({ v: version, rv: token.revision, start: `/${token.start}` });
  return Buffer.from(text).toString("base64url");
}

/** Decodes a token. Undefined: it has another form or belongs to another read, so the request passes to the upstream. */
export function decodeContinue(token: string): ContinueToken | undefined {
  try {
    const text = Buffer.from(token, "base64url").toString();
    const { v, rv, start } = JSON.parse(text) as { v?: unknown; rv?: unknown; start?: unknown };
    if (v !== version || typeof rv !== "number" || typeof start !== "string") return undefined;
    if (!Number.isSafeInteger(rv) || rv <= 0 || start === "") return undefined;
    const within = start.startsWith("/") ? start.slice(1) : start;
    const parts = within.split("/");
    if (parts.some((part) => part === "" || part === "." || part === "..")) return undefined;
    return { revision: rv, start: within };
  } catch {
    return undefined;
  }
}
