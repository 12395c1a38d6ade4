/** Decides which addresses a request may be proxied to. Upstream's rule: Go's net.IP.IsGlobalUnicast. */
import { BlockList, isIP } from "node:net";

/** Reserved ranges. IPv4 rules match IPv4-mapped IPv6 addresses too. */
const special = new BlockList();
special.addAddress("0.0.0.0");
special.addAddress("255.255.255.255");
special.addSubnet("127.0.0.0", 8);
special.addSubnet("169.254.0.0", 16);
special.addSubnet("224.0.0.0", 4);
special.addAddress("::", "ipv6");
special.addAddress("::1", "ipv6");
special.addSubnet("fe80::", 10, "ipv6");
special.addSubnet("ff00::", 8, "ipv6");

/** Whether an address is global unicast. Private ones are; loopback, link-local (metadata), multicast, unspecified are not. */
export function isGlobalUnicast(address: string): boolean {
  const family = isIP(address);
  // An address with a zone is valid on one link only.
  if (family === 0 || address.includes("%")) return false;
  return !special.check(address, family === 4 ? "ipv4" : "ipv6");
}
