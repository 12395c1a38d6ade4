/** The flags of `pilothouse apiserver`, as parsed. */
import type { ApiServerFlags } from "../plane/flags.ts";
import type { EtcdFlags } from "../shared/etcd-cluster.ts";
import type { IdentityFlags } from "./identity.ts";
import type { ServiceFlags } from "./services.ts";

export interface ApiServerRoleFlags extends ApiServerFlags, IdentityFlags, ServiceFlags, EtcdFlags {
  readonly dataDir?: string;
  readonly bindAddress: string;
  readonly securePort: number;
  /** Time to live of events, in milliseconds. */
  readonly eventTtl: number;
  readonly enableBootstrapTokenAuth: boolean;
}
