/** Where checkpoints of a replicated store may lie: a shared directory, a bucket behind signed requests. */
import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import type { ChunkStore } from "#store/engines/etcd/chunk-store.ts";
import { openCheckpointPlace } from "./checkpoint-place.ts";

const place = "0b5c6c3e-8f0e-4c0e-9f43-1f8f0f5d9b11";
const ids = ["0000000001-00000001", "0000000001-00000002", "0000000002-00000001"] as const;
const secret = "not/a+secret";
const environment = { AWS_ACCESS_KEY_ID: "test-key", AWS_SECRET_ACCESS_KEY: secret };

/** Chunks are put, found, put again with the same bytes, and removed by age. */
async function checkStore(store: ChunkStore): Promise<void> {
  const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => i % 251);
  for (const id of ids) {
    for (const number of [0, 1, 10]) await store.put({ place, id, number }, bytes.subarray(number));
  }
  await store.put({ place, id: ids[0], number: 0 }, bytes);
  const found = await store.get({ place, id: ids[1], number: 10 });
  assert.deepEqual(Buffer.from(found ?? []), Buffer.from(bytes.subarray(10)));
  assert.equal(await store.get({ place, id: ids[1], number: 2 }), undefined);
  await store.removeBefore(place, ids[2]);
  assert.equal(await store.get({ place, id: ids[1], number: 0 }), undefined);
  assert.notEqual(await store.get({ place, id: ids[2], number: 10 }), undefined);
}

async function inDirectory(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "checkpoints-"));
  try {
    await run(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

void test("a directory keeps chunks whole, for the owner alone, and leaves what is not a checkpoint", () =>
  inDirectory(async (directory) => {
    const store = await openCheckpointPlace(pathToFileURL(directory).href, {});
    assert.ok(store !== undefined);
    await checkStore(store);
    writeFileSync(join(directory, place, "README"), "of somebody else");
    await store.removeBefore(place, "9999999999-00000001");
    assert.deepEqual(readdirSync(join(directory, place)), ["README"]);
    await store.put({ place, id: ids[0], number: 0 }, new Uint8Array(3));
    assert.equal(statSync(join(directory, place, ids[0], "0")).mode & 0o777, 0o600);
  }));

void test("a bucket keeps chunks behind signed requests, over errors of its own", async () => {
  const bucket = new Bucket();
  const endpoint = await bucket.listen();
  try {
    const given = `s3://logs/deep%20er/place?endpoint=${endpoint}&region=eu-test-1`;
    const store = await openCheckpointPlace(given, environment);
    assert.ok(store !== undefined);
    bucket.failures = 2;
    await checkStore(store);
    assert.ok([...bucket.objects.keys()].every((key) => key.startsWith("/logs/deep%20er/place/")));
    const stranger = { ...environment, AWS_SECRET_ACCESS_KEY: "another" };
    const refused = await openCheckpointPlace(given, stranger);
    const name = { place, id: ids[2], number: 0 };
    await assert.rejects(
      refused?.get(name) ?? Promise.resolve(),
      /refuses: 403 SignatureDoesNotMatch$/,
    );
    bucket.failures = 100;
    await assert.rejects(store.put(name, new Uint8Array(1)), /refuses: 503 SlowDown$/);
  } finally {
    bucket.close();
  }
});

for (const [given, keys, refusal] of [
  ["/var/checkpoints", {}, /must be file:\/\/\/DIR or s3:\/\//],
  ["http://127.0.0.1/x", {}, /must be file:\/\/\/DIR or s3:\/\//],
  ["file://elsewhere/x", {}, /must name a directory of this machine/],
  ["s3://Logs_/x", environment, /must name a bucket/],
  ["s3://key@logs/x", environment, /must name a bucket/],
  ["s3://logs/x?secret=1", environment, /has secret: only endpoint and region/],
  [
    "s3://logs/x?endpoint=http://10.0.0.1",
    environment,
    /must have an endpoint that begins with https/,
  ],
  ["s3://logs/x", { AWS_ACCESS_KEY_ID: "a" }, /needs AWS_SECRET_ACCESS_KEY in the environment/],
] as const) {
  void test(`refused: ${given}`, async () => {
    await assert.rejects(openCheckpointPlace(given, keys), (error: Error) => {
      assert.match(error.message, refusal);
      assert.ok(!error.message.includes(secret));
      return true;
    });
  });
}

/** As much of S3 as there is to use, with signatures checked by the letter of AWS's description. */
class Bucket {
  readonly objects = new Map<string, Buffer>();
  /** So many requests meet an error of the bucket. */
  failures = 0;
  readonly #server = createServer((request, response) => void this.#take(request, response));

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => void this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray());
    const answer = (status: number, text: string | Buffer = ""): void =>
      void response.writeHead(status).end(text);
    if (this.failures > 0) {
      this.failures--;
      return answer(503, "<Error><Code>SlowDown</Code></Error>");
    }
    if (!isSigned(request)) return answer(403, "<Error><Code>SignatureDoesNotMatch</Code></Error>");
    const [path = "", query = ""] = (request.url ?? "").split("?");
    if (request.method === "PUT") this.objects.set(path, body);
    if (request.method === "DELETE") this.objects.delete(path);
    if (request.method !== "GET") return answer(request.method === "PUT" ? 200 : 204);
    if (query !== "") return answer(200, this.#list(path, new URLSearchParams(query)));
    const found = this.objects.get(path);
    return found === undefined
      ? answer(404, "<Error><Code>NoSuchKey</Code></Error>")
      : answer(200, found);
  }

  /** Two at a time. */
  #list(bucket: string, query: URLSearchParams): string {
    const keys = [...this.objects.keys()]
      .map((path) => decodeURIComponent(path.slice(bucket.length + 1)))
      .filter((key) => key.startsWith(query.get("prefix") ?? ""))
      .toSorted();
    const contents = keys.slice(0, 2).map((key) => `<Contents><Key>${key}</Key></Contents>`);
    return `<ListBucketResult>${contents.join("")}</ListBucketResult>`;
  }
}

/** AWS Signature Version 4. */
function isSigned({ headers, method, url = "" }: IncomingMessage): boolean {
  const form =
    /Credential=test-key\/(\d+)\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=(\w+)/;
  const [, day = "", region = "", names = "", signature] =
    form.exec(headers.authorization ?? "") ?? [];
  const [path, query = ""] = url.split("?");
  const lines = names.split(";").map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const sorted = query.split("&").toSorted().join("&");
  const content = String(headers["x-amz-content-sha256"]);
  const canonical = [method, path, sorted, lines.join(""), names, content].join("\n");
  const scope = `${day}/${region}/s3/aws4_request`;
  const digest = createHash("sha256").update(canonical).digest("hex");
  const text = ["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, digest].join("\n");
  const hmac = (key: string | Buffer, value: string): Buffer =>
    createHmac("sha256", key).update(value).digest();
  let key = hmac(`AWS4${secret}`, day);
  for (const part of [region, "s3", "aws4_request", text]) key = hmac(key, part);
  return region === "eu-test-1" && key.toString("hex") === signature;
}
