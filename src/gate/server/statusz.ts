/** `/statusz`: the start time and the version of a component, for people. */
import type { Clock } from "#platform/clock.ts";
import type { VersionInfo } from "./version.ts";
import type { ZPage } from "./z-page.ts";

interface StatuszDeps {
  readonly clock: Clock;
  readonly version: VersionInfo;
  readonly component: string;
  /** Paths of the endpoints for people and probes, in order. */
  readonly paths: readonly string[];
}

/** Makes the page; call it at the start of the component. */
export function statuszPage({ clock, version, component, paths }: StatuszDeps): ZPage {
  const startMs = clock.nowMs();
  const uptimeSeconds = (): number => Math.max(0, Math.floor((clock.nowMs() - startMs) / 1000));
  const facts = {
    goVersion: version.goVersion,
    binaryVersion: binaryVersion(version),
    emulationVersion: `${version.emulationMajor}.${version.emulationMinor}`,
  };
  const startTime = new Date(startMs).toISOString().replace(/\.\d+Z$/, "Z");
  return {
    kind: "Statusz",
    component,
    text: () =>
      `${[
        "",
        `Started: ${unixDate(startMs)}`,
        `Up: ${uptimeText(uptimeSeconds())}`,
        `Go version: ${facts.goVersion}`,
        `Binary version: ${facts.binaryVersion}`,
        `Emulation version: ${facts.emulationVersion}`,
        `Paths: ${paths.join(" ")}`,
      ].join("\n")}\n`,
    fields: () => ({ startTime, uptimeSeconds: uptimeSeconds(), ...facts, paths }),
  };
}

/** Version without prefix and suffix: `1.36.0` of `v1.36.0+pilothouse.0.1.0`. */
function binaryVersion({ gitVersion }: VersionInfo): string {
  return gitVersion.replace(/^v/, "").replace(/[+-].*$/, "");
}

function uptimeText(seconds: number): string {
  const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");
  return `${Math.floor(seconds / 3600)} hr ${two((seconds / 60) % 60)} min ${two(seconds % 60)} sec`;
}

/** Date in the format of Unix: `Sat Nov  7 01:56:12 UTC 2026` */
function unixDate(ms: number): string {
  const [weekday = "", day = "", month = "", year = "", time = ""] = new Date(ms)
    .toUTCString()
    .replace(",", "")
    .split(" ");
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} UTC ${year}`;
}
