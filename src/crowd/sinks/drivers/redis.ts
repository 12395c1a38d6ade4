/**
 * Redis Streams: a batch is one script, so its records, what is known of their objects and the positions
 * change together or not at all.
 *
 *   pilothouse:{SINK}:state         hash: epoch, batches, and a position a source
 *   pilothouse:{SINK}:known:SOURCE  hash: key -> uid/resourceVersion of what was written last
 *
 * Holds  a script runs only in the newest opening, and only behind the script before it: so a batch that was
 *        sent twice, or by an instance that another one replaced, changes nothing.
 * Stream ids are Redis' own: those made of a revision would forbid two resources in a stream, and a list
 * after a gap, whose objects come in the order of names.
 * As durable as the server's appendonly setting makes it.
 */
import { RedisConnection, type RedisTarget } from "./redis-connection.ts";
import {
  type KnownObject,
  SinkConfigError,
  type SinkDriver,
  SinkFencedError,
  type SinkRecord,
  type SinkSession,
} from "../sink-driver.ts";

interface RedisOptions extends RedisTarget {
  readonly sink: string;
  readonly contentType: string;
  /** Approximate maximum number of entries in a stream. Undefined: no limit. */
  readonly maxLength: number | undefined;
}

const fieldsPerRecord = 9;
/** Number of entries per reply of HSCAN. */
const scanCount = 1_000;

/** KEYS: state. ARGV: epoch, number of earlier batches, prefix of known objects, length, content type, then nine per record. */
const appendScript = `
if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then
  return redis.error_reply('FENCED epoch ' .. tostring(redis.call('HGET', KEYS[1], 'epoch')))
end
if redis.call('HGET', KEYS[1], 'batches') ~= ARGV[2] then
  return redis.error_reply('ORDER a batch before this one did not land')
end
local positions, failure = {}, nil
for i = 6, #ARGV, ${fieldsPerRecord} do
  local kind, source, position, key = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  if kind ~= 'POSITION' then
    local command = {'XADD', ARGV[i + 7]}
    if ARGV[4] ~= '0' then command[3], command[4], command[5] = 'MAXLEN', '~', ARGV[4] end
    for _, field in ipairs({'*', 'type', kind, 'id', ARGV[i + 6], 'key', key,
        'resourceVersion', ARGV[i + 5], 'contentType', ARGV[5], 'data', ARGV[i + 8]}) do
      command[#command + 1] = field
    end
    local added = redis.pcall(unpack(command))
    if type(added) == 'table' and added.err then failure = added break end
    if key ~= '' then
      if kind == 'DELETED' then redis.call('HDEL', ARGV[3] .. source, key)
      else redis.call('HSET', ARGV[3] .. source, key, ARGV[i + 4] .. '/' .. ARGV[i + 5]) end
    end
  end
  positions[source] = position
end
for source, position in pairs(positions) do
  redis.call('HSET', KEYS[1], 'position:' .. source, position)
end
redis.call('HINCRBY', KEYS[1], 'batches', 1)
return failure or 'OK'
`;

export class RedisDriver implements SinkDriver {
  readonly target: string;
  readonly atLeastOnce = false;
  readonly #options: RedisOptions;

  constructor(options: RedisOptions) {
    this.#options = options;
    this.target = options.url;
  }

  async open(_sources: readonly string[], signal: AbortSignal): Promise<SinkSession> {
    const connection = await RedisConnection.open(this.#options, signal);
    try {
      return await RedisSession.open(connection, this.#options);
    } catch (error) {
      connection.close();
      throw error;
    }
  }
}

class RedisSession implements SinkSession {
  readonly inFlightMax = 4;
  readonly positions = new Map<string, string>();
  readonly #connection: RedisConnection;
  readonly #options: RedisOptions;
  readonly #script: string;
  #epoch = "";
  #batches = 0;

  private constructor(connection: RedisConnection, options: RedisOptions, script: string) {
    this.#connection = connection;
    this.#options = options;
    this.#script = script;
  }

  static async open(connection: RedisConnection, options: RedisOptions): Promise<RedisSession> {
    const script = String(await connection.send(["SCRIPT", "LOAD", appendScript]));
    const session = new RedisSession(connection, options, script);
    await session.#takeOver();
    return session;
  }

  async known(source: string): Promise<Map<string, KnownObject>> {
    const known = new Map<string, KnownObject>();
    let cursor = "0";
    do {
      const asked = ["HSCAN", this.#known + source, cursor, "COUNT", String(scanCount)];
      const [next, pairs] = (await this.#connection.send(asked)) as [string, string[]];
      for (let at = 0; at + 1 < pairs.length; at += 2) {
        const value = pairs[at + 1] as string;
        const slash = value.lastIndexOf("/");
        const [uid, resourceVersion] = [value.slice(0, slash), value.slice(slash + 1)];
        known.set(pairs[at] as string, { uid, resourceVersion });
      }
      cursor = String(next);
    } while (cursor !== "0");
    return known;
  }

  async append(records: readonly SinkRecord[]): Promise<void> {
    const { maxLength = 0, contentType } = this.#options;
    const head = ["EVALSHA", this.#script, "1", this.#state, this.#epoch, `${this.#batches++}`];
    const settings = [this.#known, `${maxLength}`, contentType];
    const fields = records.flatMap((record) => fieldsOf(record));
    await this.#connection.send([...head, ...settings, ...fields]).catch(asSinkError);
  }

  close(): Promise<void> {
    this.#connection.close();
    return Promise.resolve();
  }

  get #state(): string {
    return `pilothouse:{${this.#options.sink}}:state`;
  }

  get #known(): string {
    return `pilothouse:{${this.#options.sink}}:known:`;
  }

  /** Takes the sink over: from then on no batch of an earlier opening is written; the state read next contains all written ones. */
  async #takeOver(): Promise<void> {
    const send = (...command: string[]) => this.#connection.send(command).catch(asSinkError);
    this.#epoch = String(await send("HINCRBY", this.#state, "epoch", "1"));
    await send("HSETNX", this.#state, "batches", "0");
    const fields = (await send("HGETALL", this.#state)) as string[] | Record<string, string>;
    const pairs = Array.isArray(fields) ? inPairs(fields) : Object.entries(fields);
    for (const [name, value] of pairs) {
      if (name === "batches") this.#batches = Number(value);
      if (name.startsWith("position:")) this.positions.set(name.slice("position:".length), value);
    }
  }
}

function fieldsOf(record: SinkRecord): (string | Buffer)[] {
  const { type, source, position, key, uid, resourceVersion, id, route, value } = record;
  const data = value === undefined ? "" : Buffer.from(value.buffer, value.byteOffset, value.length);
  return [type, source, position, key, uid, resourceVersion, id, route, data];
}

function inPairs(flat: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < flat.length; at += 2) {
    pairs.push([flat[at] as string, flat[at + 1] as string]);
  }
  return pairs;
}

function asSinkError(error: unknown): never {
  const text = error instanceof Error ? error.message : String(error);
  if (text.startsWith("FENCED")) throw new SinkFencedError(text.slice("FENCED ".length));
  if (/^(WRONGTYPE|NOPERM|ERR unknown command)/.test(text)) throw new SinkConfigError(text);
  throw error;
}
