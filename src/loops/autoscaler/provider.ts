/** Interface of the cloud provider, as far as cluster-autoscaler's externalgrpc protocol supports it. Every call may reject. */
import type { Node } from "#api/gen/types.ts";
import type { GroupOptions, Instance } from "./snapshot.ts";

export interface ProviderGroup {
  readonly id: string;
  readonly min: number;
  readonly max: number;
}

export interface NodeGroupProvider {
  /** Called before each loop. */
  refresh(): Promise<void>;
  groups(): Promise<readonly ProviderGroup[]>;
  targetSize(group: string): Promise<number>;
  instances(group: string): Promise<readonly Instance[]>;
  /** Undefined: the provider has no templates. */
  template(group: string): Promise<Node | undefined>;
  /** Undefined: the provider has no options of its own. */
  options(group: string, defaults: GroupOptions): Promise<GroupOptions | undefined>;
  /** Price of such a node per hour. Undefined: the provider has no prices. */
  price(node: Node): Promise<number | undefined>;
  increase(group: string, delta: number): Promise<void>;
  deleteNodes(group: string, nodes: readonly ProviderNode[]): Promise<void>;
  /** `delta` is negative. */
  decreaseTarget(group: string, delta: number): Promise<void>;
}

export interface ProviderNode {
  readonly name: string;
  readonly providerId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export function providerNode({ metadata, spec }: Node): ProviderNode {
  return {
    name: metadata?.name ?? "",
    providerId: spec?.providerID ?? "",
    labels: metadata?.labels ?? {},
    annotations: metadata?.annotations ?? {},
  };
}
