/** Finds the address at which others reach this host, when no address was given. */
import { networkInterfaces, type NetworkInterfaceInfo } from "node:os";

/** Returns the first address that is neither loopback nor link-local, IPv4 before IPv6; undefined: there is none. */
export function hostAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return firstReachable(all);
}

export function firstReachable(
  addresses: readonly Pick<NetworkInterfaceInfo, "address" | "family" | "internal">[],
): string | undefined {
  const reachable = addresses.filter(({ address, internal }) => !internal && !isLinkLocal(address));
  const found = reachable.find(({ family }) => family === "IPv4") ?? reachable[0];
  return found?.address;
}

function isLinkLocal(address: string): boolean {
  return /^(169\.254\.|fe[89ab][0-9a-f]:)/i.test(address);
}
