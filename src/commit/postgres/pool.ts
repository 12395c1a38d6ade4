/**
 * A few connections to one PostgreSQL database, which may have several hosts: the next one is tried when one is gone, is no
 * primary, or does not answer.
 *
 * Holds  a connection is used by one call at a time, and thrown away after any error: what became of its statement is not
 *        known, and it never comes back with half an answer.
 * Bounds `connectionsMax` connections, further calls wait; `answerMs` for each call, `answerBytesMax` bytes of it.
 */
import { Socket } from "node:net";
import type { Client as PgClient, ClientConfig } from "pg";
import { must } from "#base/assert.ts";
import type { Clock, Timer } from "#platform/clock.ts";
import { ForeignTableError } from "./table.ts";
import { nameOf, type PostgresTarget } from "./target.ts";

interface PoolOptions {
  readonly connectionsMax: number;
  readonly answerMs: number;
  readonly answerBytesMax: number;
}

/** The same limits as for a log in etcd. A page of slots is 4 MiB, and a part of a batch 1.5 MB. */
export const recommendedPool: PoolOptions = {
  connectionsMax: 8,
  answerMs: 2000,
  answerBytesMax: 128 * 2 ** 20,
};

interface PoolDeps {
  readonly clock: Clock;
  /** The driver's class, passed in because the driver is an optional package. */
  readonly Client: new (config: ClientConfig) => PgClient;
  /** PEM of the authorities that sign servers' certificates; absent: the host's authorities. */
  readonly ca?: string | undefined;
}

/** The outcome is not known: the server may have carried out the statement, or will do so. */
class NoAnswerError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = "NoAnswerError";
  }
}

interface Connection {
  readonly client: PgClient;
  readonly socket: Socket;
  isBroken: boolean;
}

const guardMs = 50;

export class PostgresPool {
  readonly name: string;
  readonly #deps: PoolDeps;
  readonly #targets: readonly PostgresTarget[];
  readonly #options: PoolOptions;
  readonly #idle: Connection[] = [];
  readonly #all = new Set<Connection>();
  readonly #waiting: (() => void)[] = [];
  #used = 0;
  #at = 0;
  #isClosed = false;

  /** `targets`: hosts of the same database, at least one. */
  constructor(deps: PoolDeps, targets: readonly PostgresTarget[], options: PoolOptions) {
    this.#deps = deps;
    this.#targets = targets;
    this.#options = options;
    this.name = targets.map(nameOf).join(",");
  }

  /** Runs `run` with a connection. Rejects with the server's error, or NoAnswerError. */
  async use<Result>(run: (client: PgClient) => Promise<Result>): Promise<Result> {
    await this.#turn();
    try {
      const connection = this.#idle.pop() ?? (await this.#connect());
      return await this.#guarded(connection, run);
    } finally {
      this.#used--;
      this.#waiting.shift()?.();
    }
  }

  /** Returns a separate connection, which the caller must end. */
  async connectAlone(): Promise<PgClient> {
    return (await this.#connect()).client;
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#all) this.#end(connection);
  }

  async #turn(): Promise<void> {
    if (this.#used >= this.#options.connectionsMax) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#used++;
  }

  async #guarded<Result>(
    connection: Connection,
    run: (client: PgClient) => Promise<Result>,
  ): Promise<Result> {
    try {
      const result = await this.#bounded(connection, () => run(connection.client));
      if (connection.isBroken || this.#isClosed) this.#end(connection);
      else this.#idle.push(connection);
      return result;
    } catch (error) {
      this.#end(connection);
      throw this.#named(error);
    }
  }

  /** Rejects when the answer takes too long, or is too large. */
  async #bounded<Result>(connection: Connection, run: () => Promise<Result>): Promise<Result> {
    const { clock } = this.#deps;
    const { answerMs, answerBytesMax } = this.#options;
    const { socket } = connection;
    const fromMs = clock.monotonicMs();
    const fromBytes = socket.bytesRead;
    const late = Promise.withResolvers<never>();
    let timer: Timer;
    const look = (): void => {
      const bytes = socket.bytesRead - fromBytes;
      const ms = clock.monotonicMs() - fromMs;
      if (bytes > answerBytesMax) late.reject(tooLarge(bytes, answerBytesMax));
      else if (ms >= answerMs) late.reject(new NoAnswerError(`no answer within ${answerMs} ms`));
      else timer = clock.after("postgres.answer", guardMs, look);
    };
    timer = clock.after("postgres.answer", guardMs, look);
    try {
      return await Promise.race([run(), late.promise]);
    } finally {
      timer.cancel();
    }
  }

  async #connect(): Promise<Connection> {
    if (this.#isClosed) throw new NoAnswerError("the connection was closed");
    const target = must(this.#targets[this.#at % this.#targets.length], "a pool has a target");
    const socket = new Socket();
    const client = new this.#deps.Client(this.#config(target, socket));
    const connection = { client, socket, isBroken: false };
    this.#all.add(connection);
    client.on("error", () => {
      connection.isBroken = true;
      this.#end(connection);
    });
    try {
      await this.#bounded(connection, async () => {
        await client.connect();
        await prepare(client);
      });
      return connection;
    } catch (error) {
      this.#at++;
      this.#end(connection);
      throw this.#named(error);
    }
  }

  #config(target: PostgresTarget, socket: Socket): ClientConfig {
    const { host, port, user, password, database, isClear } = target;
    const { ca } = this.#deps;
    return {
      host,
      port,
      user,
      password,
      database,
      ssl: isClear ? false : { ...(ca !== undefined && { ca }), servername: host },
      stream: () => socket,
      application_name: "pilothouse store",
      connectionTimeoutMillis: this.#options.answerMs,
      options: "",
    };
  }

  /** Ends a connection without waiting for the server to confirm the end. */
  #end(connection: Connection): void {
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    if (!this.#all.delete(connection)) return;
    connection.client.end().catch(() => undefined);
    connection.socket.destroy();
  }

  /** Turns errors of a broken connection, from the host or the driver, into NoAnswerError. */
  #named(error: unknown): Error {
    const { code } = error as { readonly code?: unknown };
    if (error instanceof ForeignTableError) return error;
    const isOfServer = typeof code === "string" && /^[0-9A-Z]{5}$/.test(code);
    if (isOfServer || error instanceof NoAnswerError) return error as Error;
    return new NoAnswerError((error as Error).message, error);
  }
}

/** Refuses a standby, whose state may be old and which takes no writes. Makes commits wait for the disk and for synchronous standbys. */
async function prepare(client: PgClient): Promise<void> {
  const text =
    "SELECT pg_is_in_recovery() AS standby, current_setting('synchronous_commit') AS sync, set_config('bytea_output', 'hex', false)";
  const { rows } = await client.query<{ standby: boolean; sync: string }>(text);
  const [row] = rows;
  if (row?.standby !== false) throw new NoAnswerError("it is a standby, no primary");
  if (row.sync === "off" || row.sync === "local") {
    await client.query("SET synchronous_commit = on");
  }
}

function tooLarge(bytes: number, bytesMax: number): NoAnswerError {
  return new NoAnswerError(`an answer of ${bytes} bytes and more, ${bytesMax} are taken`);
}
