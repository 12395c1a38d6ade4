/** Finds the resource of a kind in the server's discovery. A kind that was found is not requested again. */
import type { Client, ResourceRef } from "#client/client.ts";
import { isNotFound } from "#client/api-errors.ts";
import { parseApiVersion } from "#api/object.ts";
import { isRecord } from "#base/is-record.ts";
import type { StageTarget } from "./stage.ts";

export interface FoundKind {
  readonly ref: ResourceRef;
  readonly isNamespaced: boolean;
}

const kindsMax = 1_000;

export class KindTable {
  readonly #client: Client;
  readonly #known = new Map<string, FoundKind>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Returns undefined while the kind is not served. */
  async find({ apiVersion, kind }: StageTarget): Promise<FoundKind | undefined> {
    const key = `${apiVersion} ${kind}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const gv = parseApiVersion(apiVersion);
    if (gv === undefined) return undefined;
    const answer = await this.#ask(gv.group === "" ? `/api/${gv.version}` : `/apis/${apiVersion}`);
    const found = resourcesOf(answer).find((one) => one.kind === kind);
    if (found === undefined) return undefined;
    const made = { ref: { ...gv, resource: found.name }, isNamespaced: found.isNamespaced };
    if (this.#known.size < kindsMax) this.#known.set(key, made);
    return made;
  }

  async #ask(path: string): Promise<unknown> {
    try {
      return await this.#client.raw(path);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

interface Listed {
  readonly name: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
}

function resourcesOf(answer: unknown): readonly Listed[] {
  const { resources } = isRecord(answer) ? answer : {};
  if (!Array.isArray(resources)) return [];
  return resources.filter(isRecord).flatMap(({ name, kind, namespaced }) => {
    // Names with a slash are subresources.
    if (typeof name !== "string" || name.includes("/") || typeof kind !== "string") return [];
    return [{ name, kind, isNamespaced: namespaced === true }];
  });
}
