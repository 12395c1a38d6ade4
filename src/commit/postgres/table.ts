/**
 * The table that holds a log: keys as etcd's, in the order of their bytes, and values.
 *
 *   key    bytea, the primary key: in the order of bytes whatever the database's encoding and collation
 *   value  bytea, stored as it is: batches are compressed by nobody, so a read costs what it returns
 *
 * It lies in a schema of its own, and is always named with it: a search path changes nothing.
 * How this changes: what the log's keys mean is the engine's (`format`, ../store/engines/etcd); other columns are another table.
 */
import type { Client } from "pg";

/** The existing table does not have these columns, or is not durable. */
export class ForeignTableError extends Error {
  constructor(table: string, found: string) {
    super(
      `${table} is not a log's table: it has ${found}; name another schema with --postgres-schema`,
    );
    this.name = "ForeignTableError";
  }
}

const wanted = "r p: key bytea, value bytea; primary key (key)";
export const schemaForm = /^[a-z_][a-z0-9_]{0,62}$/;

export function tableOf(schema: string): string {
  return `"${schema}"."log"`;
}

/** Creates the table unless it exists. Throws ForeignTableError. */
export async function makeTable(client: Client, schema: string): Promise<void> {
  const table = tableOf(schema);
  const found = await describe(client, schema);
  if (found === undefined) {
    await client.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
    await client.query(
      `CREATE TABLE IF NOT EXISTS ${table} (key bytea PRIMARY KEY, value bytea NOT NULL)`,
    );
    await client.query(`ALTER TABLE ${table} ALTER COLUMN value SET STORAGE EXTERNAL`);
  }
  const made = found ?? (await describe(client, schema)) ?? "nothing";
  if (made !== wanted) throw new ForeignTableError(table, made);
}

/** Returns kind, persistence and columns of the table as a text; undefined: there is no table. */
async function describe(client: Client, schema: string): Promise<string | undefined> {
  const text = `
    SELECT c.relkind::text || ' ' || c.relpersistence::text || ': ' || string_agg(
      a.attname || ' ' || t.typname, ', ' ORDER BY a.attnum) || '; ' || coalesce((
        SELECT lower(pg_catalog.pg_get_constraintdef(k.oid)) FROM pg_catalog.pg_constraint k
        WHERE k.conrelid = c.oid AND k.contype = 'p'), 'no primary key') AS found
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
    WHERE n.nspname = $1 AND c.relname = 'log'
    GROUP BY c.oid, c.relkind, c.relpersistence`;
  const { rows } = await client.query<{ found: string }>(text, [schema]);
  return rows[0]?.found;
}
