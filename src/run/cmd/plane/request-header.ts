/** `--requestheader-*`: front proxies that name the user of a request in headers. */
import { X509Certificate } from "node:crypto";
import type { RequestHeaderOptions } from "#auth/request-header.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface RequestHeaderFlags {
  readonly requestheaderClientCaFile?: string;
  readonly requestheaderAllowedNames: readonly string[];
  readonly requestheaderUsernameHeaders: readonly string[];
  readonly requestheaderUidHeaders: readonly string[];
  readonly requestheaderGroupHeaders: readonly string[];
  readonly requestheaderExtraHeadersPrefix: readonly string[];
}

export interface FrontProxyTrust extends RequestHeaderOptions {
  /** CA of front proxies' certificates in PEM. */
  readonly clientCa: string;
}

/** Returns the trusted front proxies. Undefined: none is trusted. @throws UsageError */
export function frontProxyTrust(flags: RequestHeaderFlags): FrontProxyTrust | undefined {
  const lists = {
    "requestheader-allowed-names": flags.requestheaderAllowedNames,
    "requestheader-username-headers": flags.requestheaderUsernameHeaders,
    "requestheader-uid-headers": flags.requestheaderUidHeaders,
    "requestheader-group-headers": flags.requestheaderGroupHeaders,
    "requestheader-extra-headers-prefix": flags.requestheaderExtraHeadersPrefix,
  };
  for (const [flag, values] of Object.entries(lists))
    if (values.some((value) => value.trim() === ""))
      throw new UsageError(`empty value in ${JSON.stringify(flag)}`);
  const { requestheaderClientCaFile: file } = flags;
  if (file === undefined) return undefined;
  const uids = flags.requestheaderUidHeaders;
  if (uids.length > 0 && !uids.some((name) => name.toLowerCase() === "x-remote-uid")) {
    const what = "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid";
    throw new UsageError(`${what} header - API aggregation will not work`);
  }
  const trimmed = (values: readonly string[]): readonly string[] =>
    values.map((value) => value.trim());
  return {
    clientCa: authorityOf(file),
    allowedNames: flags.requestheaderAllowedNames,
    usernameHeaders: trimmed(flags.requestheaderUsernameHeaders),
    uidHeaders: trimmed(uids),
    groupHeaders: trimmed(flags.requestheaderGroupHeaders),
    extraPrefixes: trimmed(flags.requestheaderExtraHeadersPrefix),
  };
}

function authorityOf(file: string): string {
  const pem = readOperatorFile(file);
  try {
    new X509Certificate(pem);
  } catch (error) {
    const what = `--requestheader-client-ca-file ${file}: ${(error as Error).message}`;
    throw new UsageError(what, { cause: error });
  }
  return pem;
}
