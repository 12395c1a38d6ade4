/** The commands of `pilothouse region`: requests to the home cluster and to the region, and a line of output about them. */
import { writeFileSync } from "node:fs";
import { given } from "#base/given.ts";
import { isRecord } from "#base/is-record.ts";
import { ApiError } from "#api/status.ts";
import type { AnyObject } from "#api/object.ts";
import { findCondition, type Condition } from "#client/conditions.ts";
import type { Client } from "#client/client.ts";
import { NodeClock } from "#platform/node/clock.ts";
import type { KubeAccess } from "#platform/node/kubeconfig.ts";
import { installAtHome } from "#regions/definitions/install.ts";
import {
  cleanRegion,
  JoinError,
  joinRegion,
  leaveRegion,
  orderRegion,
  tunnelToken,
} from "#regions/join/join.ts";
import { defaultReads, regionObjects } from "#regions/join/region-rights.ts";
import { annotations, refs } from "#regions/names.ts";
import { parseSummary } from "#regions/summary/summary-text.ts";
import { stringify } from "yaml";
import { regionKubeconfig } from "../coordinator/region-access.ts";
import { ApiConnection } from "../shared/api-access.ts";
import { productVersion } from "../shared/product.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { accessOf } from "../shared/upstream-access.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface HomeFlags {
  readonly coordinator: string;
  readonly namespace: string;
}

export interface LeaveFlags extends HomeFlags {
  readonly kubeconfig?: string;
}

export interface JoinFlags {
  readonly kubeconfig?: string;
  readonly coordinator?: string;
  readonly namespace: string;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly cost?: string;
  readonly kinds: readonly string[];
  readonly agent?: boolean;
  readonly services?: boolean;
  /** Resources whose reads are forwarded. True: the default ones. */
  readonly reads?: true | readonly string[];
  readonly server?: string;
  /** The coordinator's address, which the region's agent dials. */
  readonly pull?: string;
  readonly pullCa?: string;
  readonly pullFile?: string;
  readonly showRbac?: boolean;
}

export async function join(flags: JoinFlags): Promise<void> {
  const parts = {
    kinds: flags.kinds,
    hasAgent: flags.agent === true || flags.pull !== undefined,
    isPulled: flags.pull !== undefined,
    hasServices: flags.services === true,
    reads: flags.reads === true ? defaultReads : (flags.reads ?? []),
  };
  if (flags.showRbac === true) {
    return print(
      regionObjects(parts)
        .map((object) => stringify(object))
        .join("---\n"),
    );
  }
  const { name, coordinator, namespace, labels = {} } = flags;
  if (name === undefined || coordinator === undefined) {
    throw new UsageError(
      "region join needs --name and --coordinator; --show-rbac alone only prints",
    );
  }
  const access = await accessFor(flags.kubeconfig, "--kubeconfig");
  const address = { ...access, server: flags.server ?? access.server };
  const options = { name, namespace, labels, ...parts };
  await withHome({ coordinator, namespace }, (home) =>
    withConnection(access, async (region) => {
      const clients = { region: region.client(), home: home.client(), clock: new NodeClock() };
      await installAtHome(clients.home);
      await joinRegion(clients, { ...options, ...given({ cost: flags.cost }) }, (token) =>
        regionKubeconfig(address, token),
      );
      if (flags.pull !== undefined) await writeTunnelFile(flags, name, clients.home);
    }),
  );
  print(`region ${name} has joined: ClusterProfile ${namespace}/${name}\n`);
}

/** Writes the file for `region agent --tunnel`. Its holder can answer in the name of the region. */
async function writeTunnelFile(
  { pull = "", pullCa, pullFile, namespace, reads }: JoinFlags,
  name: string,
  home: Client,
): Promise<void> {
  if (pullFile === undefined) throw new UsageError("--pull needs --pull-file");
  if (reads !== undefined) {
    throw new UsageError("--reads asks the region with another account: not with --pull yet");
  }
  const token = await tunnelToken(home, { name, namespace });
  const ca = pullCa === undefined ? undefined : readOperatorFile(pullCa);
  const server = `${pull.replace(/\/$/, "")}/tunnels/${name}`;
  const base64 = regionKubeconfig(
    { server, ...given({ ca }) },
    Buffer.from(token).toString("base64"),
  );
  writeFileSync(pullFile, Buffer.from(base64, "base64"), { mode: 0o600 });
}

export async function leave(name: string, flags: LeaveFlags): Promise<void> {
  await withHome(flags, (home) => leaveRegion(home.client(), { ...flags, name }));
  if (flags.kubeconfig !== undefined) {
    const access = await accessFor(flags.kubeconfig, "--kubeconfig");
    await withConnection(access, (region) => cleanRegion(region.client()));
  }
  print(`region ${name} has left; what was placed there runs on\n`);
}

export async function order(
  name: string,
  word: "drain" | "lost" | undefined,
  flags: HomeFlags,
): Promise<void> {
  await withHome(flags, (home) => orderRegion(home.client(), { ...flags, name }, word));
  print(word === undefined ? `region ${name} takes part again\n` : `region ${name}: ${word}\n`);
}

export async function listRegions(flags: HomeFlags): Promise<void> {
  const { items } = await withHome(flags, (home) =>
    home.client().list<AnyObject>(refs.profiles, { namespace: flags.namespace }),
  );
  const head = ["NAME", "HEALTHY", "VERSION", "NODES", "PODS", "PENDING", "ORDER"];
  const rows = [head, ...items.map(rowOf)];
  const widths = head.map((_, at) => Math.max(...rows.map((row) => (row[at] ?? "").length)));
  const lines = rows.map((row) =>
    row.map((cell, at) => cell.padEnd((widths[at] ?? 0) + 3)).join(""),
  );
  print(`${lines.map((line) => line.trimEnd()).join("\n")}\n`);
}

function rowOf({ metadata, status }: AnyObject): readonly string[] {
  const fields = isRecord(status) ? status : {};
  const conditions = Array.isArray(fields["conditions"])
    ? (fields["conditions"] as readonly Condition[])
    : [];
  const version = isRecord(fields["version"]) ? fields["version"]["kubernetes"] : undefined;
  const properties = Array.isArray(fields["properties"]) ? fields["properties"] : [];
  const summary = parseSummary(properties as Parameters<typeof parseSummary>[0]);
  return [
    metadata?.name ?? "",
    findCondition(conditions, "ControlPlaneHealthy")?.status ?? "Unknown",
    typeof version === "string" ? version : "",
    summary === undefined ? "" : `${summary.readyNodes}/${summary.nodes}`,
    summary === undefined ? "" : String(summary.pods),
    summary === undefined ? "" : String(summary.pendingPods),
    metadata?.annotations?.[annotations.order] ?? "",
  ];
}

async function accessFor(upstream: string | undefined, flag: string): Promise<KubeAccess> {
  return accessOf(given({ upstream }), process.env, flag);
}

async function withHome<T>(flags: HomeFlags, act: (home: ApiConnection) => Promise<T>): Promise<T> {
  const access = await accessFor(flags.coordinator, "--coordinator");
  return withConnection(access, act);
}

/** Runs `act` with a connection, then closes it. Refusals of the servers become UsageErrors for the operator. */
async function withConnection<T>(
  access: KubeAccess,
  act: (connection: ApiConnection) => Promise<T>,
): Promise<T> {
  const connection = new ApiConnection(access, `region/pilothouse-${productVersion}`);
  // The platform's timers do not keep a process alive while it waits for a token.
  const alive = setInterval(() => {}, 60_000);
  try {
    return await act(connection);
  } catch (error) {
    if (error instanceof ApiError || error instanceof JoinError) {
      throw new UsageError(error.message, { cause: error });
    }
    throw error;
  } finally {
    clearInterval(alive);
    connection.close();
  }
}

function print(text: string): void {
  process.stdout.write(text);
}
