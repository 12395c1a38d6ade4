/**
 * Finds the resource of a kind by discovery: for scale targets, and for the objects that metrics describe.
 *
 * Bounds 200 group-versions, each requested again after 30 s, the interval at which upstream resets its mapper.
 */
import { parseApiVersion, qualifiedResource } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import { isNotFound } from "#client/api-errors.ts";
import type { Client, ResourceRef } from "#client/client.ts";
import type { Clock } from "#platform/clock.ts";

const freshMs = 30_000;
const versionsMax = 200;

interface Listed {
  readonly atMs: number;
  readonly resources: Promise<readonly Listing[]>;
}

interface Listing {
  readonly name: string;
  readonly kind: string;
}

export class KindResources {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #lists = new Map<string, Listed>();

  constructor({ client, clock }: { readonly client: Client; readonly clock: Clock }) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Throws with upstream's text when the kind does not exist or has no scale. */
  async scaled(apiVersion: string, kind: string): Promise<ResourceRef> {
    const { ref, all } = await this.#find(apiVersion, kind);
    if (all.some(({ name }) => name === `${ref.resource}/scale`)) return ref;
    throw new Error(`${qualifiedResource(ref)} does not implement the scale subresource`);
  }

  /** Throws when the kind does not exist. */
  async named(apiVersion: string, kind: string): Promise<ResourceRef> {
    return (await this.#find(apiVersion, kind)).ref;
  }

  async #find(apiVersion: string, kind: string) {
    const gv = parseApiVersion(apiVersion === "" ? "v1" : apiVersion);
    if (gv === undefined) throw new Error(`unexpected GroupVersion string: ${apiVersion}`);
    for (const version of await this.#versions(gv)) {
      const all = await this.#list(gv.group, version);
      const found = all.find((one) => one.kind === kind && !one.name.includes("/"));
      if (found !== undefined) return { ref: { ...gv, version, resource: found.name }, all };
    }
    throw new Error(
      `no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(gv.group)}`,
    );
  }

  /** The named version, or the group's preferred one if the named one is not served. */
  async #versions({ group, version }: { readonly group: string; readonly version: string }) {
    const named = await this.#list(group, version);
    if (named.length > 0 || group === "") return [version];
    const answer = await this.#client.raw(`/apis/${group}`).catch(noneWhenNotFound);
    const preferred = isRecord(answer) ? answer["preferredVersion"] : undefined;
    const other = isRecord(preferred) ? preferred["version"] : undefined;
    return typeof other === "string" && other !== version ? [other] : [];
  }

  #list(group: string, version: string): Promise<readonly Listing[]> {
    const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const known = this.#lists.get(path);
    const nowMs = this.#clock.monotonicMs();
    if (known !== undefined && nowMs - known.atMs < freshMs) return known.resources;
    if (this.#lists.size >= versionsMax) this.#lists.clear();
    const resources = this.#client.raw(path).catch(noneWhenNotFound).then(listingsOf);
    this.#lists.set(path, { atMs: nowMs, resources });
    // A failure is not cached; the caller receives it.
    resources.catch(() => this.#lists.delete(path));
    return resources;
  }
}

function noneWhenNotFound(error: unknown): undefined {
  if (isNotFound(error)) return undefined;
  throw error;
}

function listingsOf(answer: unknown): readonly Listing[] {
  const resources = isRecord(answer) ? answer["resources"] : [];
  if (!Array.isArray(resources)) return [];
  return resources.filter(
    (one): one is Listing =>
      isRecord(one) && typeof one["name"] === "string" && typeof one["kind"] === "string",
  );
}
