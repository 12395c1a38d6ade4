/**
 * Which cluster each resource was in, as the cluster that has the rest remembers it: a server that was given other
 * entries would serve none of what is stored.
 *
 * Holds  the first server with entries writes the record; only one with --accept-etcd-placement changes it.
 *        Clusters are known by etcd's own number, whatever their addresses.
 * Stock servers do not read it; it is no object's key.
 */
import { isJsonObject } from "#api/json/json-value.ts";
import type { JsonValue } from "#api/object.ts";
import type { EtcdClient } from "#etcd/client.ts";

/** By resource name (`apps/deployments`): etcd's id of the resource's cluster, in hexadecimal digits. */
type Placed = ReadonlyMap<string, string>;

/** A resource whose configured cluster is not the recorded one. Undefined: the cluster of all other resources. */
interface MovedResource {
  readonly name: string;
  readonly was: string | undefined;
  readonly now: string | undefined;
}

const key = "pilothouse-placement";
/** Numbers in etcd's compare: EQUAL, MOD. */
const equal = 0;
const modTarget = 2;

/**
 * `root`: what keys begin with, `/registry/`. `isAccepted`: what differs becomes the record.
 * @returns what differs from the record, and is not accepted. Throws when it cannot be read, GrpcError.
 */
export async function checkPlacement(
  client: EtcdClient,
  root: string,
  placed: Placed,
  isAccepted: boolean,
): Promise<readonly MovedResource[]> {
  const { kvs } = await client.range({ key: root + key });
  const [stored] = kvs;
  if (stored === undefined && placed.size === 0) return [];
  const moved = stored === undefined ? [] : movedBetween(parsed(stored.value, root + key), placed);
  if (moved.length > 0 && !isAccepted) return moved;
  if (stored !== undefined && moved.length === 0) return [];
  const value = new TextEncoder().encode(JSON.stringify(Object.fromEntries(placed)));
  const modRevision = stored?.modRevision ?? 0;
  const compare = [{ result: equal, target: modTarget, key: root + key, modRevision }];
  const success = [{ put: { key: root + key, value } }];
  const { succeeded } = await client.txn({ compare, success });
  // Another server wrote the record first, so that record is compared now.
  return succeeded ? [] : checkPlacement(client, root, placed, false);
}

function movedBetween(before: Placed, now: Placed): readonly MovedResource[] {
  const names = [...new Set([...before.keys(), ...now.keys()])].toSorted();
  return names
    .map((name) => ({ name, was: before.get(name), now: now.get(name) }))
    .filter((one) => one.was !== one.now);
}

/** Parses the record. Throws Error. */
function parsed(value: Uint8Array, name: string): Placed {
  const text = new TextDecoder().decode(value);
  try {
    const fields = JSON.parse(text) as JsonValue;
    const entries = isJsonObject(fields) ? Object.entries(fields) : undefined;
    if (entries?.every((entry): entry is [string, string] => typeof entry[1] === "string") === true)
      return new Map(entries);
  } catch {
    // The error is thrown below.
  }
  throw new Error(
    `${name} is no record of where resources are: delete it if nothing else wrote it`,
  );
}
