/** Flags of pod addresses: what they mean, and which upstream refuses together. */
import assert from "node:assert/strict";
import { Command } from "commander";
import { test } from "node:test";
import { addNodeRangeFlags, nodeIpamOf, type NodeRangeFlags } from "./node-ranges.ts";

function parsed(line: string): NodeRangeFlags {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  addNodeRangeFlags(command);
  return command.parse(line.split(" "), { from: "user" }).opts();
}

function masksOf(line: string): readonly number[] | undefined {
  return nodeIpamOf(parsed(line))?.clusterRanges.map(({ maskSize }) => maskSize);
}

test("kubeadm's flags with a pod network give nodes ranges of 24 bits", () => {
  const line =
    "--allocate-node-cidrs=true --cluster-cidr=10.244.0.0/16 --service-cluster-ip-range=10.96.0.0/12";
  assert.deepEqual(masksOf(line), [24]);
  assert.equal(nodeIpamOf(parsed(line))?.serviceRanges.length, 1);
  assert.equal(masksOf("--cluster-cidr=10.244.0.0/16"), undefined);
});

test("masks are by family, or one for a cluster of one family", () => {
  const dual = "--allocate-node-cidrs --cluster-cidr=10.0.0.0/16,fd00::/56";
  assert.deepEqual(masksOf(dual), [24, 64]);
  assert.deepEqual(masksOf(`${dual} --node-cidr-mask-size-ipv4=26`), [26, 64]);
  assert.deepEqual(
    masksOf("--allocate-node-cidrs --cluster-cidr=fd00::/112 --node-cidr-mask-size=120"),
    [120],
  );
});

test("what upstream refuses is refused", () => {
  const on = "--allocate-node-cidrs --cluster-cidr";
  const refused: readonly (readonly [string, RegExp])[] = [
    ["--allocate-node-cidrs", /Must specify --cluster-cidr/],
    [`${on}=10.0.0.0/16,10.1.0.0/16`, /not configured as dual stack/],
    [`${on}=10.0.0.0/16,fd00::/56 --node-cidr-mask-size=24`, /not allowed with dual-stack/],
    [`${on}=10.0.0.0/16 --node-cidr-mask-size-ipv6=64`, /single-stack IPv4 cluster/],
    [`${on}=fd00::/56 --node-cidr-mask-size-ipv4=24`, /single-stack IPv6 cluster/],
    [`${on}=10.0.0.0/16 --node-cidr-mask-size=24 --node-cidr-mask-size-ipv4=24`, /is set/],
    [`${on}=10.0.0.0/25`, /must be less than or equal to --node-cidr-mask-size/],
    [`${on}=fd00::/32`, /more than 65,536 node ranges/],
  ];
  for (const [line, reason] of refused) assert.throws(() => nodeIpamOf(parsed(line)), reason, line);
  assert.throws(() => parsed(`${on}=10.0.0.0`), /an address range is as/);
});
