/**
 * Authenticates the user that a front proxy names in headers (X-Remote-User and so on), like upstream's requestheader.
 *
 * Holds  the headers are used only with a currently valid certificate of the front proxies' authority and an allowed
 *        common name; otherwise they are ignored. Each line is one value: a comma is part of a name.
 */
import { ownEntry } from "#base/own.ts";
import type { Clock } from "#platform/clock.ts";
import type { Peer, PlainRequest, UserInfo } from "#platform/http.ts";
import type { AuthenticationResult, Authenticator } from "./auth.ts";
import { certificateIdentity } from "./certificate.ts";
import { withAuthenticated } from "./groups.ts";

export interface RequestHeaderOptions {
  /** Accepted common names. Empty: any that the authority signed. */
  readonly allowedNames: readonly string[];
  /** Names of headers in any case. The first header that has a value names the user. */
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraPrefixes: readonly string[];
}

export class RequestHeaderAuthenticator implements Authenticator {
  readonly #clock: Clock;
  readonly #options: RequestHeaderOptions;

  constructor(deps: { readonly clock: Clock }, options: RequestHeaderOptions) {
    this.#clock = deps.clock;
    this.#options = options;
  }

  authenticate(request: PlainRequest): Promise<AuthenticationResult> {
    const { peer } = request;
    if (peer.kind !== "socket") return Promise.resolve({ kind: "none" });
    if (peer.proxyCertificate === undefined) return Promise.resolve(withoutProxy(peer));
    const why = this.#fault(peer.proxyCertificate);
    if (why !== undefined) return Promise.resolve({ kind: "rejected", message: why });
    return Promise.resolve(this.#named(request));
  }

  #fault(certificate: Uint8Array): string | undefined {
    const identity = certificateIdentity(certificate);
    if (identity === undefined) return "x509: the certificate's names cannot be read";
    const now = this.#clock.nowMs();
    if (now < identity.notBeforeMs || now > identity.notAfterMs)
      return "x509: certificate has expired or is not yet valid";
    const { allowedNames } = this.#options;
    if (allowedNames.length === 0 || allowedNames.includes(identity.commonName)) return undefined;
    return `x509: subject with cn=${identity.commonName} is not in the allowed list`;
  }

  #named(request: PlainRequest): AuthenticationResult {
    const { usernameHeaders, uidHeaders, groupHeaders, extraPrefixes } = this.#options;
    const lines = (header: string): readonly string[] => linesOf(request, header.toLowerCase());
    const first = (headers: readonly string[]): string =>
      headers.map((header) => lines(header)[0] ?? "").find((value) => value !== "") ?? "";
    const name = first(usernameHeaders);
    if (name === "") return { kind: "none" };
    const uid = first(uidHeaders);
    const extra = extraOf(request, extraPrefixes);
    const user: UserInfo = {
      name,
      ...(uid === "" ? {} : { uid }),
      groups: groupHeaders.flatMap(lines).filter((group) => group !== ""),
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    };
    return isText(user)
      ? { kind: "user", user: withAuthenticated(user) }
      : { kind: "rejected", message: "a header of the front proxy is not UTF-8" };
  }
}

/**
 * The result for a certificate of another authority: its peer is not a front proxy. The refusal counts only when no
 * other credential names a user: a client certificate without a common name is 401, not anonymous.
 */
function withoutProxy(peer: Peer & { kind: "socket" }): AuthenticationResult {
  const isShown = peer.certificate !== undefined || peer.certificateProblem !== undefined;
  if (!isShown) return { kind: "none" };
  return { kind: "rejected", message: "x509: certificate signed by unknown authority" };
}

/** Returns the lines of a header, or its value as one line. The transport keeps separate lines for every peer with a proxy certificate. */
function linesOf({ headers, headerLines }: PlainRequest, header: string): readonly string[] {
  const single = ownEntry(headers, header);
  return ownEntry(headerLines ?? {}, header) ?? (single === undefined ? [] : [single]);
}

function extraOf(
  request: PlainRequest,
  prefixes: readonly string[],
): Readonly<Record<string, readonly string[]>> {
  const extra = new Map<string, readonly string[]>();
  for (const prefix of prefixes.map((each) => each.toLowerCase())) {
    for (const header of Object.keys(request.headers)) {
      if (!header.startsWith(prefix)) continue;
      const key = unescapedKey(header.slice(prefix.length));
      extra.set(key, [...(extra.get(key) ?? []), ...linesOf(request, header)]);
    }
  }
  return Object.fromEntries(extra);
}

/** Decodes a key. A key that is not well escaped is used unchanged, as upstream. */
function unescapedKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

function isText({ name, uid = "", groups, extra = {} }: UserInfo): boolean {
  const all = [name, uid, ...groups, ...Object.entries(extra).flat(2)];
  return all.every((text) => text.isWellFormed());
}
