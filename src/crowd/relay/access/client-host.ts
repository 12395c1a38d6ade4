/** Identity of a client when requests are counted by address. */
import { isIPv6 } from "node:net";

/** Returns the host of an address: an IPv4 address in its plain form, also when mapped to IPv6, or the /64 of an IPv6 address. */
export function hostOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped !== null) return mapped[1] ?? "";
  const [plain = ""] = address.split("%");
  if (!isIPv6(plain)) return address;
  const [head = "", tail] = plain.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const all = [...before, ...Array.from({ length: Math.max(zeros, 0) }, () => "0"), ...after];
  const short = all.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${short.join(":")}::/64`;
}
