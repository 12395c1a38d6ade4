/** The `/version` document. Field order as upstream; always indented JSON. */
export interface VersionInfo {
  readonly major: string;
  readonly minor: string;
  readonly emulationMajor: string;
  readonly emulationMinor: string;
  readonly minCompatibilityMajor: string;
  readonly minCompatibilityMinor: string;
  /** Semantic version with a leading v: `v1.36.0+pilothouse.0.1.0`. */
  readonly gitVersion: string;
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  /** Version of the server's runtime; clients only print it. */
  readonly goVersion: string;
  readonly compiler: string;
  readonly platform: string;
}

/** The Kubernetes version that this server claims. `build`: facts about the build and its host. */
export function versionInfo(build: {
  readonly productVersion: string;
  readonly commit: string;
  readonly date: string;
  readonly runtime: string;
  readonly platform: string;
}): VersionInfo {
  return {
    major: "1",
    minor: "36",
    emulationMajor: "1",
    emulationMinor: "36",
    minCompatibilityMajor: "1",
    minCompatibilityMinor: "35",
    gitVersion: `v1.36.0+pilothouse.${build.productVersion}`,
    gitCommit: build.commit,
    gitTreeState: "clean",
    buildDate: build.date,
    goVersion: build.runtime,
    compiler: "none",
    platform: build.platform,
  };
}
