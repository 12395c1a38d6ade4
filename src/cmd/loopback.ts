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
// The same addresses as IPv6 writes them.
loopback.addSubnet("::ffff:127.0.0.0", 104, "ipv6");

/** Throws UsageError for a name that means no address. `flag` is what it was given with. */
export async function isLoopback(host: string, flag: string): Promise<boolean> {
  const addresses = isIP(host) > 0 ? [host] : await addressesOf(host, flag);
  return addresses.every((address) => {
    const [bare = ""] = address.split("%");
    return loopback.check(bare, isIPv6(bare) ? "ipv6" : "ipv4");
  });
}

async function addressesOf(host: string, flag: string): Promise<string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw new UsageError(`${flag}: the host ${host} has no address (${code})`, { cause: error });
  }
}
