/**
 * Whether a listener is reached from this machine alone. What is decided is the addresses that the
 * host means, not how it is written: a name such as `127.0.0.1.example` is as far away as its address.
 */
import { lookup } from "node:dns/promises";
import { BlockList, isIP, isIPv6 } from "node:net";
import { UsageError } from "./usage-error.ts";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Resolves a name to all of its addresses. */
type Resolve = (host: string) => Promise<readonly { readonly address: string }[]>;

const byHost: Resolve = (host) => lookup(host, { all: true });

/**
 * Whether all addresses of `host` are on loopback: which of them a listener takes is not ours to say.
 * Throws UsageError for a name that means no address. `flag` is what it was given with.
 */
export async function isLoopback(host: string, flag: string, resolve = byHost): Promise<boolean> {
  const addresses = isIP(host) > 0 ? [host] : await addressesOf(host, flag, resolve);
  return addresses.every(isOnLoopback);
}

/** BlockList matches an IPv4 address also in the form ::ffff:127.0.0.1. */
function isOnLoopback(address: string): boolean {
  const [bare = ""] = address.split("%");
  return loopback.check(bare, isIPv6(bare) ? "ipv6" : "ipv4");
}

async function addressesOf(host: string, flag: string, resolve: Resolve): Promise<string[]> {
  try {
    const addresses = (await resolve(host)).map(({ address }) => address);
    if (addresses.length > 0) return addresses;
    throw Object.assign(new Error("no addresses"), { code: "ENODATA" });
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw new UsageError(`${flag}: the host ${host} has no address (${code})`, { cause: error });
  }
}
