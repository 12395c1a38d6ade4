/**
 * `import { connect } from "pilothouse/client"`: a client of any API server, with informers, for
 * controllers and services of others. Our own loops use the same client, informers and queues.
 */
import { given } from "#base/given.ts";
import type { Client } from "#client/client.ts";
import { createInformerSet, type InformerSet } from "#client/informer-set.ts";
import type { ObjectCoding } from "#client/object-coding.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import { NodeClock } from "#platform/node/clock.ts";
import { nodeLog, type LogLevel } from "#platform/node/log.ts";
import { NodeRandom } from "#platform/node/random.ts";
import type { Random } from "#platform/random.ts";
import { productVersion } from "./shared/product.ts";
import { accessOf } from "./shared/upstream-access.ts";
import { ApiConnection } from "./shared/api-access.ts";

export interface ConnectOptions {
  /** A file, or the URL of a `kubectl proxy`. Absent: a Pod's own account, KUBECONFIG, ~/.kube/config. */
  readonly kubeconfig?: string;
  /** Default: the file's current context. */
  readonly context?: string;
  /** The first part of the User-Agent; default "client". */
  readonly name?: string;
  /**
   * "protobuf" is for built-in kinds, where the server has it; custom resources stay JSON. It keeps no field that
   * this version does not know (told once in the log), as typed Go clients: default "json".
   */
  readonly encoding?: "json" | "protobuf";
  /** JSON lines on standard error; default "warn". */
  readonly logLevel?: LogLevel;
}

/** What informers, queues, elections and event recorders take as their dependencies. */
export interface Tools {
  readonly client: Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Connection extends Tools {
  readonly server: string;
  /** The context's, or the Pod's own. */
  readonly namespace: string;
  /** Ends idle connections. Stop informers first: `informers.run(signal)`. */
  close(): void;
}

/** Reads the credentials; the first request connects. Rejects with UsageError when they cannot be used. */
export async function connect(options: ConnectOptions = {}): Promise<Connection> {
  const { kubeconfig: upstream, context, name = "client", logLevel = "warn" } = options;
  const flags = {
    ...given({ upstream, context }),
  };
  const access = await accessOf(flags, process.env, "the option kubeconfig");
  const log = nodeLog({ level: logLevel, destination: 2 });
  const coding = options.encoding === "protobuf" ? await protobufCoding(log) : undefined;
  const connection = new ApiConnection(
    access,
    `${name}/pilothouse-${productVersion}`,
    given({ coding }),
  );
  return {
    ...toolsOver(connection.client(), log),
    server: access.server,
    namespace: access.namespace,
    close: () => connection.close(),
  };
}

/** Its tables are loaded only where they are used. */
async function protobufCoding(log: Log): Promise<ObjectCoding> {
  const { ProtobufCoding } = await import("#forms/protobuf/coding.ts");
  return new ProtobufCoding((message, field) =>
    log.warn("a field of a newer server is left out: JSON would keep it", { message, field }),
  );
}

/** The same over a client that is there already, such as the one of `startControlPlane`. */
export function toolsFor(client: Client, { logLevel = "warn" as LogLevel } = {}): Tools {
  return toolsOver(client, nodeLog({ level: logLevel, destination: 2 }));
}

function toolsOver(client: Client, log: Log): Tools {
  const deps = { client, clock: new NodeClock(), random: new NodeRandom(), log };
  return { ...deps, informers: createInformerSet(deps) };
}
