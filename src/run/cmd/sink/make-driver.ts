/** Creates drivers from the declarations of a sink file. Files are read and libraries imported when a sink is opened. */
import { Buffer } from "node:buffer";
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { given } from "#base/given.ts";
import type { Clock } from "#platform/clock.ts";
import type { Random } from "#platform/random.ts";
import { httpClient, httpClientLimits } from "#platform/node/http/http-client.ts";
import { trusting } from "#platform/node/trust.ts";
import { HttpDriver, type PositionFile } from "#sinks/drivers/http.ts";
import { JetStreamDriver } from "#sinks/drivers/jetstream.ts";
import { KafkaDriver } from "#sinks/drivers/kafka.ts";
import { RedisDriver } from "#sinks/drivers/redis.ts";
import { contentTypes } from "#sinks/formats.ts";
import type { SinkDriver } from "#sinks/sink-driver.ts";
import { stateTopicOf } from "#sinks/kafka-target.ts";
import type { DeclaredSink } from "#sinks/sink-file.ts";
import { readOperatorFile } from "../shared/operator-file.ts";
import { replaceFile } from "./replace-file.ts";

type Target<Kind extends string> = Extract<DeclaredSink["target"], { readonly kind: Kind }>;

const markToken = "_";

/** Throws UsageError for a file that cannot be read. */
export function makeDriver(
  deps: { readonly clock: Clock; readonly random: Random },
  { name, target, format }: DeclaredSink,
): SinkDriver {
  const contentType = contentTypes[format];
  switch (target.kind) {
    case "redis":
      return new RedisDriver({ ...redisOptions(target), sink: name, contentType });
    case "jetstream":
      return new JetStreamDriver({ ...jetStreamOptions(target), sink: name, contentType });
    case "kafka": {
      const stateTopic = stateTopicOf(name, target);
      return new KafkaDriver(deps, { ...kafkaOptions(target), stateTopic, contentType });
    }
    case "http":
      return httpDriver(deps.clock, name, target);
    default:
      return target satisfies never;
  }
}

function redisOptions({ url, username, passwordFile, caFile, maxLength }: Target<"redis">) {
  return {
    url,
    maxLength,
    username: username === "" ? undefined : username,
    password: secretOf(passwordFile),
    ca: textOf(caFile),
  };
}

function jetStreamOptions(target: Target<"jetstream">) {
  const { servers, stream, route, credentialsFile, caFile, keepPerSubject } = target;
  const perObject =
    route.parts.has("uid") || (route.parts.has("namespace") && route.parts.has("name"));
  return {
    servers,
    stream,
    keepPerSubject,
    // A part is one token of the subject, because the text that replaces it contains no dot.
    subjects: route.text.replace(/\{[^}]*\}/g, "*"),
    markSubject: route.text.replace(/\{[^}]*\}/g, markToken),
    subjectPerObject: perObject,
    credentials: secretOf(credentialsFile),
    ca: textOf(caFile),
  };
}

function kafkaOptions({ brokers, tombstones, gzip, made, tls, sasl }: Target<"kafka">) {
  const password = secretOf(sasl?.passwordFile ?? "");
  return {
    brokers,
    tombstones,
    gzip,
    made,
    tls: tls === undefined ? undefined : kafkaTls(tls),
    sasl: sasl === undefined ? undefined : () => kafkaSasl(sasl, password),
  };
}

function kafkaSasl(
  { mechanism, username }: NonNullable<Target<"kafka">["sasl"]>,
  password: (() => string) | undefined,
) {
  return { mechanism, username, password: password?.() ?? "" };
}

/** Reads the certificates for each session again, because they may be renewed. */
function kafkaTls(tls: NonNullable<Target<"kafka">["tls"]>) {
  const { caFile, certFile, keyFile, serverName } = tls;
  const read = () => ({
    ...trusting(caFile === "" ? undefined : readOperatorFile(caFile)),
    ...(certFile === "" ? {} : { cert: readOperatorFile(certFile) }),
    ...(keyFile === "" ? {} : { key: readOperatorFile(keyFile) }),
    ...(serverName === "" ? {} : { servername: serverName }),
  });
  read();
  return read;
}

function httpDriver(clock: Clock, sink: string, target: Target<"http">): SinkDriver {
  const { origin, pathname, search } = new URL(target.url);
  const ca = textOf(target.caFile);
  const http = httpClient({
    server: origin,
    ...given({ ca }),
    limits: { ...httpClientLimits, socketsMax: 1 },
  });
  const secret = secretOf(target.secretFile);
  const deps = { clock, http, file: positionFile(target.positionFile) };
  const path = pathname + search;
  const key = secret === undefined ? undefined : () => keyOf(secret());
  return new HttpDriver(deps, { sink, origin, path, secret: key });
}

/** Parses a key as Standard Webhooks writes it: `whsec_` and base64. Any other text is the key itself. */
function keyOf(text: string): Uint8Array {
  return text.startsWith("whsec_") ? Buffer.from(text.slice(6), "base64") : Buffer.from(text);
}

/** Reads a key, which Standard Webhooks writes as `whsec_` and base64. Any other text is the key itself. */
function secretOf(path: string): (() => string) | undefined {
  if (path === "") return undefined;
  readOperatorFile(path);
  return () => readOperatorFile(path).trim();
}

function textOf(path: string): string | undefined {
  return path === "" ? undefined : readOperatorFile(path);
}

function positionFile(path: string): PositionFile {
  return {
    read: async () => {
      try {
        return await readFile(path, "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    write: async (text) => {
      await mkdir(dirname(path), { recursive: true });
      await replaceFile(path, text);
    },
  };
}
