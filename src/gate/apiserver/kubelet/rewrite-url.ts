/**
 * Changes the links of a proxied backend so that they lead through the proxy.
 *
 * A link is changed when it starts at the root of the backend's host, or of the host in the client's request. Relative
 * links and links to other hosts stay as they are. This follows upstream's proxy transport, with one difference: a path
 * is cleaned before the proxy's prefix is added, so that `..` never leads out of the prefix.
 */
import { cleanPath } from "./proxy-path.ts";

export interface ProxiedPage {
  /** Path prefix of the proxy: `/api/v1/namespaces/n/services/s/proxy` */
  readonly prefix: string;
  /** Address used to reach the backend: `10.0.0.1:80`. */
  readonly backendHost: string;
  /** The client's Host header. */
  readonly requestHost: string;
}

const parts = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)([\s\S]*)$/;

export function rewriteUrl(url: string, page: ProxiedPage): string {
  const [, scheme, authority, path = "", rest = ""] = parts.exec(url) ?? [];
  const host = (authority ?? "").replace(/^.*@/, "");
  const isOtherHost = host !== "" && host !== page.backendHost && host !== page.requestHost;
  const isOpaque = scheme !== undefined && authority === undefined;
  if (isOtherHost || isOpaque || !path.startsWith("/")) return url;
  const keepsHost = host !== "" && host === page.requestHost;
  const start = keepsHost ? `${scheme === undefined ? "" : `${scheme}:`}//${authority ?? ""}` : "";
  if (path === page.prefix || path.startsWith(`${page.prefix}/`)) return start + path + rest;
  return start + page.prefix + cleanPath(path) + rest;
}
