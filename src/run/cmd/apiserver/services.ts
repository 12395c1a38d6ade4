/** The ranges of the cluster addresses and node ports of Services. */
import type { ServiceAddressOptions } from "#admission/service-addresses.ts";
import { ipv4Text, parseIpv4 } from "#api/values/ipv4.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface ServiceFlags {
  readonly serviceClusterIpRange: string;
  /** Range of node ports, such as `30000-32767`. */
  readonly serviceNodePortRange: string;
}

/** Throws UsageError. */
export function servicesOf(flags: ServiceFlags): ServiceAddressOptions {
  const [, first = "", last = ""] = /^(\d{1,5})-(\d{1,5})$/.exec(flags.serviceNodePortRange) ?? [];
  const [firstNodePort, lastNodePort] = [Number(first), Number(last)];
  if (first === "" || firstNodePort < 1 || lastNodePort > 65_535 || firstNodePort > lastNodePort) {
    throw new UsageError(
      `--service-node-port-range ${flags.serviceNodePortRange} must be FIRST-LAST, of ports from 1 to 65535`,
    );
  }
  return { range: rangeOf(flags.serviceClusterIpRange), firstNodePort, lastNodePort };
}

/** Returns the first address of the range, which the Service `kubernetes` gets. */
export function firstAddress({ range }: ServiceAddressOptions): string {
  return ipv4Text((parseIpv4(range.split("/")[0] ?? "") ?? 0) + 1);
}

function rangeOf(text: string): string {
  const [, address = "", length = ""] = /^([\d.]+)\/(\d{1,2})$/.exec(text) ?? [];
  const base = parseIpv4(address);
  const bits = Number(length);
  if (base === undefined || bits < 8 || bits > 28) {
    throw new UsageError(
      `--service-cluster-ip-range ${text} must be one IPv4 range with a prefix from 8 to 28, as 10.96.0.0/16`,
    );
  }
  return `${ipv4Text(base - (base % 2 ** (32 - bits)))}/${bits}`;
}
