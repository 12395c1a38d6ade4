/** PodSecurity's defaults for namespaces without labels, and its exemptions. */

export type Level = "privileged" | "baseline" | "restricted";

export type Mode = "enforce" | "warn" | "audit";

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

/** The release that this server implements; later versions are evaluated like it. */
export const latestMinor = 36;

/** Returns 30 for `v1.30`, and our release for `latest`. */
export function minorOf(version: string): number {
  const asked = /^v1\.(\d+)$/.exec(version)?.[1];
  return asked === undefined ? latestMinor : Number(asked);
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
