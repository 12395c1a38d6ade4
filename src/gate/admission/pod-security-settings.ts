/** PodSecurity's defaults for namespaces without labels, and its exemptions. */

export type Level = "privileged" | "baseline" | "restricted";

export interface Standard {
  readonly level: Level;
  /** `latest` or `v1.N`. */
  readonly version: string;
}

export interface PodSecuritySettings {
  readonly enforce: Standard;
  readonly warn: Standard;
  readonly audit: Standard;
  /** Exempt. */
  readonly usernames: ReadonlySet<string>;
  readonly namespaces: ReadonlySet<string>;
  readonly runtimeClasses: ReadonlySet<string>;
}

/** From least to most strict. */
export const levels: readonly string[] = ["privileged", "baseline", "restricted"];

const privileged: Standard = { level: "privileged", version: "latest" };

export const podSecurityDefaults: PodSecuritySettings = {
  enforce: privileged,
  warn: privileged,
  audit: privileged,
  usernames: new Set(),
  namespaces: new Set(),
  runtimeClasses: new Set(),
};
