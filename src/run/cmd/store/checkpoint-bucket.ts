/**
 * Chunks of checkpoints in an S3-compatible bucket: `PREFIX<log>/<checkpoint>/<number>`. Requests are signed by aws4fetch,
 * which is loaded when a bucket is named.
 *
 * Bounds a request has `deadlineMs` and `triesMax` tries; an answer `answerBytesMax`.
 */
import { setTimeout as pause } from "node:timers/promises";
import { given } from "#base/given.ts";
import type { ChunkName, ChunkStore } from "#store/engines/etcd/chunk-store.ts";
import { UsageError } from "../shared/usage-error.ts";

export interface BucketTarget {
  /** URL of the bucket without a slash at its end: `https://s3.eu-central-1.amazonaws.com/bucket`. */
  readonly url: string;
  /** Prefix of keys. It is empty or ends with a slash. */
  readonly prefix: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
}

const deadlineMs = 60_000;
const triesMax = 4;
const firstPauseMs = 200;
/** Maximum size of a response. A chunk has some 4 MiB plus one record. */
const answerBytesMax = 64 * 2 ** 20;
/** Maximum number of pages of a thousand keys each: enough for the chunks of checkpoints that were not removed for long. */
const pagesMax = 100;

type Signer = InstanceType<Awaited<ReturnType<typeof loadSigner>>>;

async function loadSigner() {
  try {
    return (await import("aws4fetch")).AwsClient;
  } catch (error) {
    throw new UsageError("checkpoints in a bucket need aws4fetch: npm install aws4fetch", {
      cause: error,
    });
  }
}

export class CheckpointBucket implements ChunkStore {
  readonly #target: BucketTarget;
  readonly #signer: Signer;

  private constructor(target: BucketTarget, signer: Signer) {
    this.#target = target;
    this.#signer = signer;
  }

  /** Opens the bucket. Throws UsageError when the library is not installed. */
  static async open(target: BucketTarget): Promise<CheckpointBucket> {
    const { accessKeyId, secretAccessKey, sessionToken, region } = target;
    const AwsClient = await loadSigner();
    const token = given({ sessionToken });
    const keys = { accessKeyId, secretAccessKey, ...token };
    return new CheckpointBucket(
      target,
      new AwsClient({ ...keys, region, service: "s3", retries: 0 }),
    );
  }

  async put(chunk: ChunkName, bytes: Uint8Array): Promise<void> {
    // The bytes are copied, because a request body must not be a view of shared memory.
    const answer = await this.#send("PUT", this.#keyOf(chunk), new Uint8Array(bytes));
    if (answer.status >= 300) throw await refusal(answer);
  }

  async get(chunk: ChunkName): Promise<Uint8Array | undefined> {
    const answer = await this.#send("GET", this.#keyOf(chunk));
    if (answer.status === 404) return undefined;
    if (answer.status >= 300) throw await refusal(answer);
    return bytesOf(answer);
  }

  async removeBefore(place: string, id: string): Promise<void> {
    const base = `${this.#target.prefix}${place}/`;
    for (let page = 0; page < pagesMax; page++) {
      const older = (await this.#list(base)).filter((key) => key < `${base}${id}/`);
      if (older.length === 0) return;
      for (const key of older) {
        const answer = await this.#send("DELETE", key);
        if (answer.status >= 300 && answer.status !== 404) throw await refusal(answer);
      }
    }
  }

  #keyOf({ place, id, number }: ChunkName): string {
    return `${this.#target.prefix}${place}/${id}/${number}`;
  }

  /** Returns the first thousand keys in order. */
  async #list(prefix: string): Promise<readonly string[]> {
    const answer = await this.#send(
      "GET",
      "",
      undefined,
      `?list-type=2&prefix=${encodeURIComponent(prefix)}`,
    );
    if (answer.status >= 300) throw await refusal(answer);
    const text = Buffer.from(await bytesOf(answer)).toString();
    // Names of chunks contain nothing that XML escapes, but the prefix may.
    return [...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = ""]) => unescapeXml(key));
  }

  /** Sends a request, and repeats it when it did not reach the bucket or failed inside the bucket. */
  async #send(
    method: string,
    key: string,
    body?: Uint8Array<ArrayBuffer>,
    query = "",
  ): Promise<Response> {
    const path = key === "" ? "" : `/${key.split("/").map(encodeURIComponent).join("/")}`;
    const url = `${this.#target.url}${path}${query}`;
    for (let tries = 1; ; tries++) {
      try {
        const signal = AbortSignal.timeout(deadlineMs);
        const answer = await this.#signer.fetch(url, {
          method,
          signal,
          ...given({ body }),
        });
        if (answer.status < 500 || tries === triesMax) return answer;
        await answer.body?.cancel();
      } catch (error) {
        if (tries === triesMax)
          throw new Error(`the bucket of the checkpoints does not answer: ${causeOf(error)}`, {
            cause: error,
          });
      }
      await pause(firstPauseMs * 2 ** (tries - 1));
    }
  }
}

async function bytesOf(answer: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of answer.body ?? []) {
    size += part.length;
    if (size > answerBytesMax)
      throw new Error(`the bucket's answer is larger than ${answerBytesMax} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

async function refusal(answer: Response): Promise<Error> {
  const text = Buffer.from(await bytesOf(answer)).toString();
  const [, code = ""] = /<Code>([^<]{1,100})<\/Code>/.exec(text) ?? [];
  return new Error(`the bucket of the checkpoints refuses: ${answer.status} ${code}`);
}

function causeOf(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error ? cause.message : message;
}

function unescapeXml(text: string): string {
  return text.replaceAll(
    /&(lt|gt|quot|apos|amp);/g,
    (_all, name: string) => escaped.get(name) ?? "",
  );
}

const escaped = new Map(Object.entries({ lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" }));
