/**
 * The layer table: which room may import which. `tidy.test.ts` reads it and nothing else;
 * a new edge is a commit of its own that touches this file. See ARCHITECTURE.md for the invariants.
 */
export interface Room {
  /** The folder of `src` that it stands in; src/README.md says what each wing is for. */
  readonly wing: "core" | "commit" | "gate" | "crowd" | "loops" | "run";
  readonly level: number;
  readonly mayImport: readonly string[];
  /** No host types, no ambient world: no node: imports, no Date.now, no setTimeout, no process. */
  readonly pure: boolean;
}

const level3 = [
  "base",
  "platform",
  "wire",
  "metrics",
  "api",
  "forms",
  "flowcontrol",
  "watch",
  "auth",
  "admission",
  "registry",
  "server",
];

export const layers: Readonly<Record<string, Room>> = {
  base: { wing: "core", level: 0, pure: true, mayImport: [] },
  platform: { wing: "core", level: 1, pure: false, mayImport: ["base"] },
  wire: { wing: "core", level: 1, pure: false, mayImport: ["base"] },
  metrics: { wing: "core", level: 1, pure: true, mayImport: ["base"] },
  api: { wing: "core", level: 1, pure: true, mayImport: ["base"] },
  forms: { wing: "core", level: 2, pure: false, mayImport: ["base", "platform", "wire", "api"] },
  store: { wing: "commit", level: 2, pure: true, mayImport: ["base", "metrics", "platform"] },
  flowcontrol: {
    wing: "gate",
    level: 2,
    pure: true,
    mayImport: ["base", "metrics", "platform", "api"],
  },
  watch: { wing: "crowd", level: 2, pure: true, mayImport: ["base", "platform", "api", "forms"] },
  // Claims of tokens are mapped, and reviews matched, by expressions.
  auth: {
    wing: "gate",
    level: 2,
    pure: false,
    mayImport: ["base", "metrics", "platform", "api", "cel"],
  },
  admission: {
    wing: "gate",
    level: 2,
    pure: true,
    mayImport: ["base", "metrics", "platform", "api"],
  },
  cel: { wing: "core", level: 2, pure: true, mayImport: ["base", "api"] },
  xds: { wing: "crowd", level: 2, pure: true, mayImport: ["base", "wire", "api"] },
  skipper: { wing: "crowd", level: 2, pure: true, mayImport: ["base"] },
  registry: {
    wing: "commit",
    level: 3,
    pure: true,
    mayImport: ["base", "metrics", "platform", "api", "forms", "store", "watch"],
  },
  etcd: {
    wing: "commit",
    level: 3,
    pure: false,
    mayImport: ["base", "metrics", "platform", "wire", "store"],
  },
  // A table of a PostgreSQL database as the keys and values of a store's log.
  postgres: { wing: "commit", level: 3, pure: false, mayImport: ["base", "platform", "store"] },
  client: {
    wing: "crowd",
    level: 3,
    pure: true,
    mayImport: ["base", "metrics", "platform", "wire", "api"],
  },
  server: {
    wing: "gate",
    level: 3,
    pure: false,
    mayImport: [
      "base",
      "metrics",
      "platform",
      "wire",
      "api",
      "forms",
      "auth",
      "flowcontrol",
      "watch",
    ],
  },
  apiserver: { wing: "gate", level: 4, pure: false, mayImport: level3 },
  // Makes the served kinds, plugins and proxies that apiserver and admission have places for.
  extension: { wing: "gate", level: 4, pure: false, mayImport: [...level3, "cel", "apiserver"] },
  // The store of a process, read in other threads than the one that writes it.
  threads: { wing: "commit", level: 3, pure: true, mayImport: ["base", "platform", "store"] },
  // The registry's store on an etcd cluster that stock API servers write as well.
  stocketcd: {
    wing: "commit",
    level: 4,
    pure: false,
    mayImport: ["base", "metrics", "platform", "wire", "api", "forms", "store", "etcd", "registry"],
  },
  // Encryption at rest: what stores keep of values, and the registry reads. A KMS plugin is asked over gRPC.
  encryption: {
    wing: "commit",
    level: 4,
    pure: false,
    mayImport: ["base", "platform", "wire", "api", "store", "registry"],
  },
  relay: {
    wing: "crowd",
    level: 4,
    pure: false,
    mayImport: [
      "base",
      "metrics",
      "platform",
      "wire",
      "api",
      "forms",
      "flowcontrol",
      "watch",
      "xds",
      "skipper",
      "client",
      "server",
    ],
  },
  // Devices are selected by expressions.
  scheduler: {
    wing: "loops",
    level: 4,
    pure: true,
    mayImport: ["base", "metrics", "platform", "api", "client", "cel"],
  },
  controllers: {
    wing: "loops",
    level: 4,
    pure: true,
    mayImport: ["base", "metrics", "platform", "api", "client"],
  },
  hollow: {
    wing: "loops",
    level: 4,
    pure: true,
    mayImport: ["base", "metrics", "platform", "api", "client"],
  },
  // Selectors of stages are queries and expressions; their templates make YAML, whose reader counts bytes by the host.
  stages: {
    wing: "loops",
    level: 4,
    pure: false,
    mayImport: ["base", "platform", "wire", "api", "client", "cel"],
  },
  // What-ifs are decided by the scheduler's own core.
  autoscaler: {
    wing: "loops",
    level: 4,
    pure: true,
    mayImport: ["base", "metrics", "platform", "api", "client", "scheduler"],
  },
  sinks: {
    wing: "crowd",
    level: 4,
    pure: false,
    mayImport: ["base", "metrics", "platform", "wire", "api", "forms", "client"],
  },
  // The coordinator of regions knows each region's API, and its own, as a client.
  regions: {
    wing: "loops",
    level: 4,
    pure: true,
    mayImport: ["base", "metrics", "platform", "api", "client"],
  },
  doctor: {
    wing: "loops",
    level: 4,
    pure: true,
    mayImport: ["base", "metrics", "platform", "wire", "api", "client"],
  },
  cmd: {
    wing: "run",
    level: 5,
    pure: false,
    mayImport: [
      "base",
      "metrics",
      "platform",
      "wire",
      "api",
      "forms",
      "store",
      "flowcontrol",
      "watch",
      "auth",
      "admission",
      "registry",
      "etcd",
      "client",
      "server",
      "apiserver",
      "relay",
      "scheduler",
      "controllers",
      "hollow",
      "stages",
      "cel",
      "extension",
      "stocketcd",
      "postgres",
      "doctor",
      "regions",
      "sinks",
      "encryption",
      "autoscaler",
      "threads",
    ],
  },
  sim: {
    wing: "run",
    level: 5,
    pure: false,
    mayImport: [
      "base",
      "metrics",
      "platform",
      "wire",
      "api",
      "forms",
      "store",
      "flowcontrol",
      "watch",
      "auth",
      "admission",
      "registry",
      "etcd",
      "client",
      "server",
      "apiserver",
      "relay",
      "scheduler",
      "controllers",
      "hollow",
      "stages",
      "cel",
      "extension",
      "stocketcd",
      "postgres",
      "doctor",
      "regions",
      "sinks",
      "encryption",
      "autoscaler",
      "threads",
    ],
  },
};

/** Where a room is, from the repository's root; undefined for a name that is no room's. */
export function folderOf(room: string): string | undefined {
  const wing = layers[room]?.wing;
  return wing === undefined ? undefined : `src/${wing}/${room}`;
}

/** The path that `#room/file.ts` names; a room that is not in the table is looked for beside the wings. */
export function pathOfImport(specifier: string): string {
  const [room = "", ...rest] = specifier.slice(1).split("/");
  return [folderOf(room) ?? `src/${room}`, ...rest].join("/");
}
