/** `--engine postgres`: the database table of a replicated log. */
import type { Client as PgClient } from "pg";
import type { Clock } from "#platform/clock.ts";
import { PostgresLogCluster } from "#postgres/log-cluster.ts";
import { PostgresPool, recommendedPool } from "#postgres/pool.ts";
import { schemaForm } from "#postgres/table.ts";
import { parseTarget, PostgresUrlError, type PostgresTarget } from "#postgres/target.ts";
import { isLoopback } from "../shared/loopback.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import type { Parts } from "../shared/parts.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface PostgresFlags {
  /** URLs of the hosts of one database. A URL may hold a password, so no message contains it. */
  readonly postgresUrl?: readonly string[];
  readonly postgresSchema?: string;
  readonly postgresCafile?: string;
}

/** Opens the log without a connection. Throws UsageError. */
export async function openPostgresLog(
  deps: { readonly clock: Clock },
  flags: PostgresFlags,
  parts: Parts,
): Promise<{ readonly cluster: PostgresLogCluster; readonly where: string }> {
  const { postgresUrl = [], postgresSchema: schema = "pilothouse", postgresCafile } = flags;
  if (!schemaForm.test(schema)) {
    throw new UsageError(
      `--postgres-schema ${schema} must be a plain name of lower case letters, digits and _, as pilothouse`,
    );
  }
  const password = process.env["PGPASSWORD"] ?? "";
  const targets = postgresUrl.map((url) => targetOf(url, password));
  for (const target of targets) await checkTransport(target);
  const ca = postgresCafile === undefined ? undefined : readOperatorFile(postgresCafile);
  const Client = await driver();
  const make = () => new PostgresPool({ ...deps, Client, ca }, targets, recommendedPool);
  const pool = await parts.open("postgres", make, { close: (opened) => opened.close() });
  return { cluster: new PostgresLogCluster({ ...deps, pool }, schema), where: pool.name };
}

/** Imports the driver, which is an optional package. */
async function driver(): Promise<typeof PgClient> {
  try {
    return (await import("pg")).default.Client;
  } catch (cause) {
    throw new UsageError("--engine postgres needs the package pg: npm install pg", { cause });
  }
}

function targetOf(url: string, password: string): PostgresTarget {
  try {
    return parseTarget(url, password);
  } catch (error) {
    if (!(error instanceof PostgresUrlError)) throw error;
    throw new UsageError(`--postgres-url: ${error.message}`);
  }
}

async function checkTransport({ host, isClear }: PostgresTarget): Promise<void> {
  if (!isClear || (await isLoopback(host, "--postgres-url"))) return;
  throw new UsageError(
    `--postgres-url: ${host} is another machine, and every Secret would cross the network in the clear: leave sslmode=disable out`,
  );
}
