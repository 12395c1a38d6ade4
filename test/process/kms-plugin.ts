/**
 * A small KMS v2 plugin on grpc-js: `node kms-plugin.ts SOCKET BEHAVIOUR.json`, read at each call. Its key of an id is made
 * from the id, so that two plugins know the same keys.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import {
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import * as m from "#encryption/kms-messages.ts";
import type { Input, Message } from "#wire/etcd-codec.ts";

export interface KmsBehaviour {
  readonly keyId: string;
  /** What Encrypt says instead; absent: the same. */
  readonly encryptKeyId?: string;
  readonly healthz?: string;
  readonly version?: string;
  /** Methods that never answer. */
  readonly hangs?: readonly string[];
  /** Methods that fail with this code. */
  readonly fails?: Readonly<Record<string, number>>;
  /** Bytes of each key that Decrypt gives, and of each ciphertext of Encrypt. */
  readonly plaintextBytes?: number;
  readonly ciphertextBytes?: number;
  /** Decrypt gives another key than was encrypted. */
  readonly lies?: boolean;
}

const unaryOf = <Q, A>(name: string, request: Message<Q>, response: Message<A>) => ({
  path: `/v2.KeyManagementService/${name}`,
  requestStream: false as const,
  responseStream: false as const,
  requestSerialize: (value: Input<Q>) => request.encode(value),
  requestDeserialize: (bytes: Buffer) => request.decode(bytes),
  responseSerialize: (value: Input<A>) => response.encode(value),
  responseDeserialize: (bytes: Buffer) => response.decode(bytes),
});

const service: ServiceDefinition = {
  Status: unaryOf("Status", m.statusRequest, m.statusResponse),
  Encrypt: unaryOf("Encrypt", m.encryptRequest, m.encryptResponse),
  Decrypt: unaryOf("Decrypt", m.decryptRequest, m.decryptResponse),
};

const annotations = [{ key: "kms.example.com", value: Buffer.from("1") }];

/** @returns how it is ended. */
export async function startKmsPlugin(
  socket: string,
  behaviour: () => KmsBehaviour,
  asked: (method: string) => void = () => {},
): Promise<() => Promise<void>> {
  const server = new Server({ "grpc.max_send_message_length": -1 });
  server.addService(service, implementation(behaviour, asked));
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  return () => {
    server.forceShutdown();
    return Promise.resolve();
  };
}

function implementation(
  behaviour: () => KmsBehaviour,
  asked: (method: string) => void,
): UntypedServiceImplementation {
  const answering =
    <Q>(
      name: string,
      answer: (request: Q, now: KmsBehaviour) => object,
    ): handleUnaryCall<Q, object> =>
    ({ request }, done) => {
      asked(name);
      const now = behaviour();
      if (now.hangs?.includes(name) === true) return;
      const code = now.fails?.[name];
      if (code !== undefined) return done({ code, details: `${name} fails` });
      try {
        done(null, answer(request, now));
      } catch (error) {
        done({ code: 2, details: String(error) });
      }
    };
  return {
    Status: answering("Status", (_request, now) => {
      const { keyId, healthz = "ok", version = "v2" } = now;
      return { keyId, healthz, version };
    }),
    Encrypt: answering("Encrypt", ({ plaintext }: { plaintext: Uint8Array }, now) => {
      const keyId = now.encryptKeyId ?? now.keyId;
      const length = now.ciphertextBytes;
      const ciphertext = length === undefined ? seal(keyId, plaintext) : Buffer.alloc(length);
      return { ciphertext, keyId, annotations };
    }),
    Decrypt: answering(
      "Decrypt",
      ({ ciphertext, keyId }: { ciphertext: Uint8Array; keyId: string }, now) => {
        if (now.plaintextBytes !== undefined)
          return { plaintext: Buffer.alloc(now.plaintextBytes) };
        const plaintext = open(keyId, ciphertext);
        return { plaintext: now.lies === true ? plaintext.reverse() : plaintext };
      },
    ),
  };
}

function keyOf(id: string): Buffer {
  return createHash("sha256").update(`key of ${id}`).digest();
}

function seal(keyId: string, plaintext: Uint8Array): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", keyOf(keyId), nonce);
  const body = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Buffer.concat([nonce, body, cipher.getAuthTag()]);
}

function open(keyId: string, sealed: Uint8Array): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", keyOf(keyId), sealed.subarray(0, 12));
  decipher.setAuthTag(sealed.subarray(-16));
  return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
}

const [, script = "", socket, file] = process.argv;
if (import.meta.url === pathToFileURL(script).href && socket !== undefined && file !== undefined) {
  const read = (): KmsBehaviour => JSON.parse(readFileSync(file, "utf8")) as KmsBehaviour;
  await startKmsPlugin(socket, read, (method) => appendFileSync(`${file}.asked`, `${method}\n`));
  process.stdout.write("listening\n");
}
