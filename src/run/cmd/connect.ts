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
  /** Path of a kubeconfig, or the URL of a `kubectl proxy`. Absent: a Pod's own account, KUBECONFIG, ~/.kube/config. */
  readonly kubeconfig?: string;
  /** Context to use. Default: the file's current context. */
  readonly context?: string;
  /** First part of the User-Agent. Default: "client". */
  readonly name?: string;
  /**
   * "protobuf" is for built-in kinds, where the server has it; custom resources stay JSON. It keeps no field that
   * this version does not know (told once in the log), as typed Go clients: default "json".
   */
  readonly encoding?: "json" | "protobuf";
  /** Level of the JSON lines on standard error. Default: "warn". */
  readonly logLevel?: LogLevel;
}

/** The dependencies of informers, queues, elections and event recorders. */
export interface Tools {
  readonly client: Client;
  readonly informers: InformerSet;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Connection extends Tools {
  readonly server: string;
  /** The context's namespace, or the Pod's own. */
  readonly namespace: string;
  /** Closes idle connections. Stop informers first: `informers.run(signal)`. */
  close(): void;
}

/** Reads the credentials. The first request connects. Rejects with UsageError when the credentials cannot be used. */
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

/** Imports the protobuf tables only when protobuf is used. */
async function protobufCoding(log: Log): Promise<ObjectCoding> {
  const { ProtobufCoding } = await import("#forms/protobuf/coding.ts");
  return new ProtobufCoding((message, field) =>
    log.warn("a field of a newer server is left out: JSON would keep it", { message, field }),
  );
}

/** Makes the tools for an existing client, such as that of `startControlPlane`. */
export function toolsFor(client: Client, { logLevel = "warn" as LogLevel } = {}): Tools {
  return toolsOver(client, nodeLog({ level: logLevel, destination: 2 }));
}

function toolsOver(client: Client, log: Log): Tools {
  const deps = { client, clock: new NodeClock(), random: new NodeRandom(), log };
  return { ...deps, informers: createInformerSet(deps) };
}
