/**
 * The layer table: which room may import which. `tidy.test.ts` reads it and nothing else;
 * a new edge is a commit of its own that touches this file. See ARCHITECTURE.md for the invariants.
 */
export interface Room {
  readonly level: number;
  readonly mayImport: readonly string[];
  /** No host types, no ambient world: no node: imports, no Date.now, no setTimeout, no process. */
  readonly pure: boolean;
}

const level3 = [
  "base",
  "platform",
  "wire",
  "api",
  "flowcontrol",
  "watch",
  "auth",
  "admission",
  "registry",
  "server",
];

export const layers: Readonly<Record<string, Room>> = {
  base: { level: 0, pure: true, mayImport: [] },
  platform: { level: 1, pure: false, mayImport: ["base"] },
  wire: { level: 1, pure: false, mayImport: ["base"] },
  api: { level: 1, pure: true, mayImport: ["base"] },
  store: { level: 2, pure: true, mayImport: ["base", "platform"] },
  flowcontrol: { level: 2, pure: true, mayImport: ["base", "platform", "api"] },
  watch: { level: 2, pure: true, mayImport: ["base", "platform", "wire", "api"] },
  auth: { level: 2, pure: false, mayImport: ["base", "platform", "api"] },
  admission: { level: 2, pure: true, mayImport: ["base", "platform", "api"] },
  cel: { level: 2, pure: true, mayImport: ["base", "api"] },
  xds: { level: 2, pure: true, mayImport: ["base", "wire", "api"] },
  registry: {
    level: 3,
    pure: true,
    mayImport: ["base", "platform", "wire", "api", "store", "watch"],
  },
  etcd: { level: 3, pure: false, mayImport: ["base", "platform", "wire", "store"] },
  client: { level: 3, pure: true, mayImport: ["base", "platform", "wire", "api"] },
  server: {
    level: 3,
    pure: false,
    mayImport: ["base", "platform", "wire", "api", "auth", "flowcontrol", "watch"],
  },
  apiserver: { level: 4, pure: false, mayImport: level3 },
  // Makes the served kinds, plugins and proxies that apiserver and admission have places for.
  extension: { level: 4, pure: false, mayImport: [...level3, "cel", "apiserver"] },
  // The registry's store on an etcd cluster that stock API servers write as well.
  stocketcd: {
    level: 4,
    pure: false,
    mayImport: ["base", "platform", "wire", "api", "store", "watch", "etcd", "registry", "server"],
  },
  relay: {
    level: 4,
    pure: false,
    mayImport: ["base", "platform", "wire", "api", "watch", "xds", "client", "server"],
  },
  scheduler: { level: 4, pure: true, mayImport: ["base", "platform", "api", "client"] },
  controllers: { level: 4, pure: true, mayImport: ["base", "platform", "api", "client"] },
  hollow: { level: 4, pure: true, mayImport: ["base", "platform", "api", "client"] },
  sinks: {
    level: 4,
    pure: false,
    mayImport: ["base", "platform", "wire", "api", "client", "server"],
  },
  doctor: { level: 4, pure: true, mayImport: ["base", "platform", "wire", "api", "client"] },
  cmd: {
    level: 5,
    pure: false,
    mayImport: [
      "base",
      "platform",
      "wire",
      "api",
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
      "cel",
      "extension",
      "stocketcd",
      "doctor",
      "sinks",
    ],
  },
  sim: {
    level: 5,
    pure: false,
    mayImport: [
      "base",
      "platform",
      "wire",
      "api",
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
      "cel",
      "extension",
      "stocketcd",
      "doctor",
      "sinks",
    ],
  },
};
