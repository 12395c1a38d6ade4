/**
 * A table of a PostgreSQL database as the keys and values of a log (`#store/engines/etcd/cluster.ts`): the engine over it is the
 * one over etcd, with its proofs.
 *
 *   put of a batch   one statement: insert the slot, if the epoch's row has this value (FOR SHARE) and the slot before is there
 *   other changes    a transaction that locks the rows that it compares, carries out, and commits
 *   read             one statement: one snapshot, taken after the call, of the primary
 *   watch            LISTEN: slots are announced by the statement that puts them, and read
 *
 * What is relied on, at READ COMMITTED: a row lock is waited for, and the row is looked at again once it is got; a primary key
 * takes one row; a statement sees all that was committed before it began. So a takeover, which updates the epoch's row,
 * waits for the batches under way, and every later one finds another value. SERIALIZABLE by default gives the same.
 *
 * Holds  an outcome that no answer has proved is "uncertain".
 */
import type { Client } from "pg";
import type { Clock } from "#platform/clock.ts";
import { watchAgain } from "#store/engines/etcd/watch-again.ts";
import type {
  Change,
  ChangeAnswer,
  ClusterKey,
  Condition,
  KeyRange,
  KeySink,
  LogCluster,
  Operation,
  ReadAnswer,
} from "#store/engines/etcd/cluster.ts";
import { refusedChange, unanswered } from "./answers.ts";
import type { PostgresPool } from "./pool.ts";
import { makeTable, tableOf } from "./table.ts";

/** Maximum number of bytes of one list: a page of slots, and some more. */
const listBytesMax = 16 * 2 ** 20;
/** Maximum number of slots announced at once; readers that poll read further slots. */
const announcedMax = 64;

interface LogDeps {
  readonly clock: Clock;
  readonly pool: PostgresPool;
}

export class PostgresLogCluster implements LogCluster {
  readonly name: string;
  readonly #clock: Clock;
  readonly #pool: PostgresPool;
  readonly #schema: string;
  readonly #table: string;
  readonly #channel: string;
  #isMade = false;

  /** `schema`: a plain name; its table is created when it does not exist. */
  constructor({ clock, pool }: LogDeps, schema: string) {
    this.#clock = clock;
    this.#pool = pool;
    this.#schema = schema;
    this.#table = tableOf(schema);
    this.#channel = `pilothouse_${schema}`.slice(0, 63);
    this.name = `the database ${pool.name}`;
  }

  async read(ranges: readonly KeyRange[]): Promise<ReadAnswer> {
    try {
      const lists = await this.#use((client) => this.#read(client, ranges));
      return { kind: "read", lists };
    } catch (error) {
      return unanswered(error as Error);
    }
  }

  async change(change: Change): Promise<ChangeAnswer> {
    const put = putOf(change);
    try {
      const isChanged = await this.#use((client) =>
        put === undefined ? this.#change(client, change) : this.#put(client, put),
      );
      return { kind: isChanged ? "changed" : "unmet" };
    } catch (error) {
      return refusedChange(error as Error) ?? unanswered(error as Error);
    }
  }

  watch(prefix: string, sink: KeySink): { close(): void } {
    const closing = new AbortController();
    void watchAgain(this.#clock, sink, closing.signal, () =>
      this.#watchOnce(prefix, sink, closing.signal),
    );
    return { close: () => closing.abort() };
  }

  #use<Result>(run: (client: Client) => Promise<Result>): Promise<Result> {
    return this.#pool.use(async (client) => {
      if (!this.#isMade) await makeTable(client, this.#schema);
      this.#isMade = true;
      return run(client);
    });
  }

  async #read(client: Client, ranges: readonly KeyRange[]): Promise<ClusterKey[][]> {
    const values: (Uint8Array | number)[] = [];
    const parts = ranges.map(({ start, end, limit }, at) => {
      values.push(bytesOf(start), bytesOf(end), limit === 0 ? keysMax : limit);
      return this.#list(at, values.length - 2);
    });
    const text = `${parts.join(" UNION ALL ")} ORDER BY list, key`;
    const { rows } = await client.query<Row & { readonly list: number }>(text, values);
    const lists: ClusterKey[][] = ranges.map(() => []);
    for (const row of rows) lists[row.list]?.push(keyOf(row));
    return lists;
  }

  /** Returns the query of a list: its first key always, and further ones up to `listBytesMax`. */
  #list(at: number, first: number): string {
    const found = `SELECT key, value, sum(octet_length(value)) OVER (ORDER BY key) AS bytes FROM (
      SELECT key, value FROM ${this.#table} WHERE key >= $${first}::bytea AND key < $${first + 1}::bytea
      ORDER BY key LIMIT $${first + 2}::bigint) AS found`;
    return `(SELECT ${at}::int4 AS list, key, value FROM (${found}) AS sized
      WHERE bytes <= ${listBytesMax} OR bytes = octet_length(value))`;
  }

  async #put(client: Client, { held, after, key, value }: SlotPut): Promise<boolean> {
    const text = `
      WITH held AS MATERIALIZED (SELECT 1 FROM ${this.#table} WHERE key = $1 AND value = $2::bytea FOR SHARE),
      put AS (INSERT INTO ${this.#table} (key, value) SELECT $3::bytea, $4::bytea FROM held
        WHERE $5::bytea IS NULL OR EXISTS (SELECT 1 FROM ${this.#table} WHERE key = $5::bytea)
        ON CONFLICT DO NOTHING RETURNING key)
      SELECT pg_notify($6::text, $7::text) FROM put`;
    const before = after === undefined ? null : bytesOf(after);
    const values = [bytesOf(held.key), held.value, bytesOf(key), value, before, this.#channel, key];
    const { rowCount } = await client.query({ name: "put", text, values });
    return rowCount === 1;
  }

  async #change(client: Client, { conditions, operations }: Change): Promise<boolean> {
    await client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
    const isDone =
      (await this.#areMet(client, conditions, operations)) &&
      (await this.#carryOut(client, conditions, operations));
    const { command } = await client.query(isDone ? "COMMIT" : "ROLLBACK");
    if (isDone && command !== "COMMIT") throw new Error(`a commit was answered with ${command}`);
    return isDone;
  }

  /** Locks the rows that the conditions compare, in the order of keys, and returns whether the conditions are met. */
  async #areMet(
    client: Client,
    conditions: readonly Condition[],
    operations: readonly Operation[],
  ): Promise<boolean> {
    const sorted = conditions.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    for (const { key, value } of sorted) {
      const isPut = operations.some((one) => one.kind === "put" && one.key === key);
      const text = `SELECT value FROM ${this.#table} WHERE key = $1::bytea FOR ${isPut ? "UPDATE" : "SHARE"}`;
      const { rows } = await client.query<{ value: Buffer }>(text, [bytesOf(key)]);
      const found = rows[0]?.value;
      if ((value === undefined) !== (found === undefined)) return false;
      if (value !== undefined && value !== "any" && found?.equals(value) !== true) return false;
    }
    return true;
  }

  /** @returns false when a key that had to be absent exists by now. */
  async #carryOut(
    client: Client,
    conditions: readonly Condition[],
    operations: readonly Operation[],
  ): Promise<boolean> {
    for (const one of operations) {
      if (one.kind === "delete") {
        const text = `DELETE FROM ${this.#table} WHERE key >= $1::bytea AND key < $2::bytea`;
        await client.query(text, [bytesOf(one.start), bytesOf(one.end)]);
        continue;
      }
      const isNew = conditions.some(({ key, value }) => key === one.key && value === undefined);
      const otherwise = isNew ? "DO NOTHING" : "(key) DO UPDATE SET value = EXCLUDED.value";
      const text = `INSERT INTO ${this.#table} (key, value) VALUES ($1::bytea, $2::bytea) ON CONFLICT ${otherwise}`;
      const { rowCount } = await client.query(text, [bytesOf(one.key), one.value]);
      if (rowCount !== 1) return false;
    }
    return true;
  }

  async #watchOnce(prefix: string, sink: KeySink, closing: AbortSignal): Promise<void> {
    const client = await this.#pool.connectAlone();
    const announced: string[] = [];
    let isReading = false;
    const read = async (): Promise<void> => {
      if (isReading) return;
      isReading = true;
      while (announced.length > 0)
        await this.#push(client, announced.splice(0, announcedMax), sink);
      isReading = false;
    };
    const ended = Promise.withResolvers<void>();
    client.on("notification", ({ payload = "" }) => {
      if (!payload.startsWith(prefix) || announced.length >= announcedMax) return;
      announced.push(payload);
      read().catch(() => ended.resolve());
    });
    client.on("end", () => ended.resolve());
    closing.addEventListener("abort", () => ended.resolve());
    try {
      await client.query(`LISTEN "${this.#channel}"`);
      await ended.promise;
    } finally {
      client.end().catch(() => undefined);
    }
  }

  async #push(client: Client, keys: readonly string[], sink: KeySink): Promise<void> {
    const text = `SELECT key, value FROM ${this.#table} WHERE key = ANY($1::bytea[]) ORDER BY key`;
    const { rows } = await client.query<Row>(text, [keys.map(bytesOf)]);
    sink.pushed(rows.map(keyOf));
  }
}

const keysMax = 1_000_000;

interface Row {
  readonly key: Buffer;
  readonly value: Buffer;
}

/** The value is copied, because the driver's bytes share memory with other values. */
function keyOf({ key, value }: Row): ClusterKey {
  return { key: key.toString("latin1"), value: new Uint8Array(value) };
}

/** Returns a key as bytea: the end of a range has a NUL, which PostgreSQL's text does not allow. */
function bytesOf(key: string): Buffer {
  return Buffer.from(key, "latin1");
}

interface SlotPut {
  readonly held: { readonly key: string; readonly value: Uint8Array };
  readonly after: string | undefined;
  readonly key: string;
  readonly value: Uint8Array;
}

/** Recognizes the change that puts one new key while the epoch is held. Undefined: it is another kind of change. */
function putOf({ conditions, operations }: Change): SlotPut | undefined {
  const [held, free, after] = conditions;
  const [put] = operations;
  if (put?.kind !== "put" || operations.length !== 1 || conditions.length > 3) return undefined;
  if (free?.key !== put.key || free.value !== undefined) return undefined;
  if (held?.value === undefined || held.value === "any") return undefined;
  if (after !== undefined && after.value !== "any") return undefined;
  const { key, value } = put;
  return { held: { key: held.key, value: held.value }, after: after?.key, key, value };
}
