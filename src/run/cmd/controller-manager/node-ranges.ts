/**
 * kube-controller-manager's flags of pod addresses: with --allocate-node-cidrs each node gets a range of --cluster-cidr.
 *
 * Source: cmd/kube-controller-manager/app/core.go, 1.36: which masks may be given with which families.
 */
import { type Command, InvalidArgumentError } from "commander";
import { parseRange, type Range } from "#api/validation/ip.ts";
import type { NodeIpamOptions } from "#controllers/nodeipam/controller.ts";
import { maskDifferenceMax } from "#controllers/nodeipam/pool.ts";
import { boolean, integer } from "../shared/flag-values.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface NodeRangeFlags {
  readonly allocateNodeCidrs: boolean;
  readonly clusterCidr: readonly Range[];
  readonly serviceClusterIpRange: readonly Range[];
  /** Prefix length of a node's range. 0: not given, as in the next two members. */
  readonly nodeCidrMaskSize: number;
  readonly nodeCidrMaskSizeIpv4: number;
  readonly nodeCidrMaskSizeIpv6: number;
}

/** Upstream's default prefix lengths of a node's range. */
const maskDefaults = { IPv4: 24, IPv6: 64 };

export function addNodeRangeFlags(command: Command): void {
  command
    .option(
      "--allocate-node-cidrs [boolean]",
      "give each node a range of pod addresses of --cluster-cidr",
      boolean,
      false,
    )
    .option(
      "--cluster-cidr <ranges>",
      "pod addresses of the cluster, one range or one of each family, comma separated",
      ranges,
      [],
    )
    .option(
      "--service-cluster-ip-range <ranges>",
      "addresses of Services, which no node is given, comma separated",
      ranges,
      [],
    )
    .option(
      "--node-cidr-mask-size <bits>",
      "prefix length of a node's range; 0: 24, or 64 of IPv6",
      mask,
      0,
    )
    .option("--node-cidr-mask-size-ipv4 <bits>", "the same of IPv4 alone", mask, 0)
    .option("--node-cidr-mask-size-ipv6 <bits>", "the same of IPv6 alone", mask, 0);
}

const mask = integer("bits", 0, 128);

function ranges(text: string): readonly Range[] {
  const found = text
    .split(",")
    .filter((one) => one.trim() !== "")
    .map((one) => parseRange(one.trim()));
  const all = found.filter((range) => range !== undefined);
  if (all.length === found.length) return all;
  throw new InvalidArgumentError("an address range is as 10.244.0.0/16 or fd00:10:244::/56.");
}

/** Returns the options of the node ranges. Undefined: nodes get no ranges. @throws UsageError */
export function nodeIpamOf(flags: NodeRangeFlags): NodeIpamOptions | undefined {
  if (!flags.allocateNodeCidrs) return undefined;
  const { clusterCidr: cluster } = flags;
  checkFamilies(cluster);
  checkMaskFlags(flags, cluster);
  return {
    clusterRanges: cluster.map((range) => ({ range, maskSize: maskOf(flags, range) })),
    serviceRanges: flags.serviceClusterIpRange,
  };
}

function checkFamilies(cluster: readonly Range[]): void {
  if (cluster.length === 0)
    throw new UsageError("Must specify --cluster-cidr if --allocate-node-cidrs is set");
  if (cluster.length > 2)
    throw new UsageError(`length of clusterCIDRs is:${cluster.length} more than max allowed of 2`);
  if (cluster.length === 2 && cluster[0]?.address.family === cluster[1]?.address.family)
    throw new UsageError(
      "len of ClusterCIDRs==2 and they are not configured as dual stack (at least one from each IPFamily",
    );
}

function checkMaskFlags(flags: NodeRangeFlags, cluster: readonly Range[]): void {
  const { nodeCidrMaskSize: both, nodeCidrMaskSizeIpv4: four, nodeCidrMaskSizeIpv6: six } = flags;
  if (cluster.length === 2) {
    if (both === 0) return;
    throw new UsageError("usage of --node-cidr-mask-size is not allowed with dual-stack clusters");
  }
  if (both !== 0 && (four !== 0 || six !== 0))
    throw new UsageError(
      "usage of --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6 is not allowed if --node-cidr-mask-size is set. For dual-stack clusters please unset it and use IPFamily specific flags",
    );
  const isIpv6 = cluster[0]?.address.family === "IPv6";
  if (isIpv6 ? four !== 0 : six !== 0)
    throw new UsageError(
      `usage of --node-cidr-mask-size-ipv${isIpv6 ? 4 : 6} is not allowed for a single-stack IPv${isIpv6 ? 6 : 4} cluster`,
    );
}

function maskOf(flags: NodeRangeFlags, { address: { family }, prefixLength }: Range): number {
  const own = family === "IPv4" ? flags.nodeCidrMaskSizeIpv4 : flags.nodeCidrMaskSizeIpv6;
  const size = flags.nodeCidrMaskSize || own || maskDefaults[family];
  if (prefixLength > size || size > (family === "IPv4" ? 32 : 128))
    throw new UsageError(
      "Invalid --cluster-cidr, mask size of cluster CIDR must be less than or equal to --node-cidr-mask-size configured for CIDR family",
    );
  if (size - prefixLength <= maskDifferenceMax) return size;
  throw new UsageError(
    `--cluster-cidr of /${prefixLength} has more than 65,536 node ranges of /${size}: give a longer prefix or a shorter mask`,
  );
}
