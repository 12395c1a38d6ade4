/** Connection to a Redis server. The official client library is loaded when a sink needs it. */
import { given } from "#base/given.ts";
import { trusting } from "#platform/node/trust.ts";
import { loadLibrary } from "./library.ts";

export interface RedisTarget {
  /** URL of the server without credentials: `redis://host:port/db` or `rediss://`. */
  readonly url: string;
  readonly username: string | undefined;
  /** Returns the password; read when the connection is made. */
  readonly password: (() => string) | undefined;
  /** PEM certificates of the authorities of a `rediss` server. Undefined: those of the host. */
  readonly ca: string | undefined;
}

const connectMs = 10_000;

type RedisClient = Awaited<ReturnType<typeof makeClient>>;

async function makeClient({ url, username, password, ca }: RedisTarget) {
  const { createClient } = await loadLibrary("@redis/client", () => import("@redis/client"));
  const tls = trusting(ca);
  return createClient({
    url,
    RESP: 2,
    ...given({ username }),
    ...(password === undefined ? {} : { password: password() }),
    // A session ends with its connection, so the library must not queue commands and send them later.
    disableOfflineQueue: true,
    socket: {
      ...tls,
      connectTimeout: connectMs,
      reconnectStrategy: false,
    },
  });
}

export class RedisConnection {
  readonly #client: RedisClient;
  readonly #failed = Promise.withResolvers<never>();

  private constructor(client: RedisClient) {
    this.#client = client;
    this.#failed.promise.catch(() => undefined);
    client.on("error", (error: unknown) => this.#failed.reject(error));
    client.on("end", () => this.#failed.reject(new Error("the connection to Redis ended")));
  }

  static async open(target: RedisTarget, signal: AbortSignal): Promise<RedisConnection> {
    const connection = new RedisConnection(await makeClient(target));
    const stop = (): void => connection.close();
    signal.addEventListener("abort", stop, { once: true });
    try {
      await Promise.race([connection.#client.connect(), connection.#failed.promise]);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Sends a command; replies come in the order of the calls. Rejects with the server's error, or when the connection is lost. */
  send(command: readonly (string | Buffer)[]): Promise<unknown> {
    const answer = this.#client.sendCommand([...command]);
    return Promise.race([answer, this.#failed.promise]);
  }

  close(): void {
    this.#client.destroy();
  }
}
