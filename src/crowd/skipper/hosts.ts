/** Hosts of routes: their regular expressions, and which of them are internal or allowed. */

/** Returns a regular expression that matches the hosts with or without a trailing dot and a port. */
export function hostPattern(hosts: readonly string[]): string {
  if (hosts.length === 0) return "";
  const each = hosts.map((host) => `${host.replaceAll(".", "[.]")}[.]?(:[0-9]+)?`);
  return `^(${each.join("|")})$`;
}

export function isInRange(host: string, domains: readonly string[]): boolean {
  return domains.some((domain) => host.endsWith(domain));
}

export function isAllowedName(allowed: readonly RegExp[] | undefined, name: string): boolean {
  return allowed === undefined || allowed.some((pattern) => pattern.test(name));
}

export function isAllowedAddress(allowed: readonly RegExp[] | undefined, address: string): boolean {
  if (allowed === undefined) return true;
  const host = /^[A-Za-z][-+.A-Za-z0-9]*:\/\/(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)/.exec(
    address,
  )?.[1];
  return host !== undefined && isAllowedName(allowed, host.replace(/^\[|\]$/g, ""));
}
