/** The flags of `pilothouse up`, as parsed: the limits are `main.ts`'s to check. */
import type { ImagePatterns } from "#hollow/image-pull.ts";
import type { AggregationFlags } from "./aggregation.ts";
import type { KubeletFlags } from "./kubelets.ts";
import type { RequestHeaderFlags } from "./request-header.ts";
import type { SigningFlags } from "./signing.ts";

export interface UpFlags extends KubeletFlags, SigningFlags, AggregationFlags, RequestHeaderFlags {
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  readonly nodes: number;
  readonly imagePullError: ImagePatterns;
  readonly compactEvery: number;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
  readonly auditLog?: string;
  readonly tokenAuthFile?: string;
  readonly anonymousPaths: readonly string[] | "all";
  readonly enableAdmissionPlugins: readonly string[];
  readonly disableAdmissionPlugins: readonly string[];
  readonly admissionControlConfigFile?: string;
  readonly advertiseAddress?: string;
  readonly relay?: string;
  readonly relayResources: string;
}
