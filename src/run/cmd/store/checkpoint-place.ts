/** `--checkpoints`: the place of a replicated store's checkpoints when it is outside the etcd cluster. */
import { fileURLToPath } from "node:url";
import type { ChunkStore } from "#store/engines/etcd/chunk-store.ts";
import { CheckpointBucket, type BucketTarget } from "./checkpoint-bucket.ts";
import { CheckpointDirectory } from "./checkpoint-directory.ts";
import { UsageError } from "../shared/usage-error.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const bucketForm = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const defaultRegion = "us-east-1";

/** Opens the place without a connection. Undefined: the checkpoints are in etcd. Throws UsageError. */
export async function openCheckpointPlace(
  given: string | undefined,
  environment: Environment,
): Promise<ChunkStore | undefined> {
  if (given === undefined) return undefined;
  const url = URL.parse(given);
  if (url?.protocol === "file:") return directoryOf(url, given);
  if (url?.protocol === "s3:") return CheckpointBucket.open(bucketOf(url, given, environment));
  throw wrong(given, "must be file:///DIR or s3://BUCKET/PREFIX?endpoint=https://HOST");
}

function directoryOf(url: URL, given: string): CheckpointDirectory {
  try {
    return new CheckpointDirectory(fileURLToPath(url));
  } catch {
    throw wrong(given, "must name a directory of this machine, as file:///mnt/checkpoints");
  }
}

/** The keys come from the environment, as is usual for tools of this kind. */
function bucketOf(url: URL, given: string, environment: Environment): BucketTarget {
  const { hostname, pathname, searchParams, username } = url;
  if (!bucketForm.test(hostname) || username !== "")
    throw wrong(given, "must name a bucket, as s3://BUCKET/PREFIX");
  for (const name of searchParams.keys()) {
    if (name !== "endpoint" && name !== "region")
      throw wrong(given, `has ${name}: only endpoint and region are known`);
  }
  const region = searchParams.get("region") ?? environment["AWS_REGION"] ?? defaultRegion;
  const endpoint = searchParams.get("endpoint") ?? `https://s3.${region}.amazonaws.com`;
  const path = decodeURIComponent(pathname).replace(/^\//, "");
  return {
    url: `${checkedEndpoint(endpoint, given)}/${hostname}`,
    prefix: path === "" || path.endsWith("/") ? path : `${path}/`,
    region,
    accessKeyId: needed(environment, "AWS_ACCESS_KEY_ID", given),
    secretAccessKey: needed(environment, "AWS_SECRET_ACCESS_KEY", given),
    sessionToken: environment["AWS_SESSION_TOKEN"],
  };
}

/** Allows a connection without TLS only to this machine, because chunks hold every object of the cluster. */
function checkedEndpoint(endpoint: string, given: string): string {
  const url = URL.parse(endpoint);
  const isOwn = url !== null && ["127.0.0.1", "[::1]", "localhost"].includes(url.hostname);
  if (url?.protocol === "https:" || (url?.protocol === "http:" && isOwn)) return url.origin;
  throw wrong(given, "must have an endpoint that begins with https://");
}

function needed(environment: Environment, name: string, given: string): string {
  const value = environment[name] ?? "";
  if (value === "") throw wrong(given, `needs ${name} in the environment`);
  return value;
}

function wrong(given: string, what: string): UsageError {
  return new UsageError(`--checkpoints ${given} ${what}`);
}
