/** The store of the sample API server: objects of one kind in memory, with versions and watches. */
import { randomUUID } from "node:crypto";

export interface Flunder {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly resourceVersion: string;
    readonly uid: string;
    readonly creationTimestamp: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

export interface FlunderEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Flunder;
  readonly version: number;
}

export class Refusal extends Error {
  readonly code: number;
  readonly reason: string;

  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

export const apiVersion = "wardle.example.com/v1alpha1";

export class Flunders {
  readonly #objects = new Map<string, Flunder>();
  readonly #events: FlunderEvent[] = [];
  readonly #watchers = new Set<(event: FlunderEvent) => void>();
  version = 1;

  get(namespace: string, name: string): Flunder {
    const found = this.#objects.get(`${namespace}/${name}`);
    if (found !== undefined) return found;
    const text = `flunders.wardle.example.com ${JSON.stringify(name)} not found`;
    throw new Refusal(404, "NotFound", text);
  }

  list(namespace: string): readonly Flunder[] {
    const all = [...this.#objects.values()];
    return namespace === "" ? all : all.filter((one) => one.metadata.namespace === namespace);
  }

  create(namespace: string, body: Record<string, unknown>): Flunder {
    const { name = "", ...rest } = (body["metadata"] ?? {}) as { name?: string };
    if (name === "") throw new Refusal(422, "Invalid", "metadata.name: Required value");
    if (this.#objects.has(`${namespace}/${name}`)) {
      const text = `flunders.wardle.example.com ${JSON.stringify(name)} already exists`;
      throw new Refusal(409, "AlreadyExists", text);
    }
    const creationTimestamp = "2026-01-01T00:00:00Z";
    const metadata = { ...rest, name, namespace, uid: randomUUID(), creationTimestamp };
    return this.#put("ADDED", { ...body, metadata });
  }

  replace(namespace: string, name: string, body: Record<string, unknown>): Flunder {
    const old = this.get(namespace, name);
    const { resourceVersion = "" } = (body["metadata"] ?? {}) as { resourceVersion?: string };
    if (resourceVersion !== "" && resourceVersion !== old.metadata.resourceVersion) {
      throw new Refusal(409, "Conflict", "the object has been modified");
    }
    const { uid, creationTimestamp } = old.metadata;
    const given = (body["metadata"] ?? {}) as object;
    const { deletionTimestamp } = old.metadata;
    const going = deletionTimestamp === undefined ? {} : { deletionTimestamp };
    const metadata = { ...given, ...going, name, namespace, uid, creationTimestamp };
    const replaced = this.#put("MODIFIED", { ...body, metadata });
    return this.#isOver(replaced) ? this.#remove(replaced) : replaced;
  }

  delete(namespace: string, name: string, policy = "Background"): Flunder {
    const old = this.get(namespace, name);
    const own = (old.metadata["finalizers"] ?? []) as readonly string[];
    const finalizers = policy === "Foreground" ? [...own, "foregroundDeletion"] : own;
    if (finalizers.length === 0) return this.#remove(old);
    const deletionTimestamp = "2026-01-02T00:00:00Z";
    const metadata = { ...old.metadata, finalizers, deletionTimestamp };
    return this.#put("MODIFIED", { ...old, metadata });
  }

  /** Events after `since` (0: what is there now as ADDED), then new ones. @returns the end of it. */
  watch(namespace: string, since: number, tell: (event: FlunderEvent) => void): () => void {
    const filtered = (event: FlunderEvent): void => {
      if (namespace === "" || event.object.metadata.namespace === namespace) tell(event);
    };
    if (since === 0) {
      for (const object of this.list(namespace)) tell({ type: "ADDED", object, version: 0 });
    } else for (const event of this.#events) if (event.version > since) filtered(event);
    this.#watchers.add(filtered);
    return () => this.#watchers.delete(filtered);
  }

  #isOver({ metadata }: Flunder): boolean {
    const finalizers = (metadata["finalizers"] ?? []) as readonly string[];
    return metadata["deletionTimestamp"] !== undefined && finalizers.length === 0;
  }

  #remove(old: Flunder): Flunder {
    this.#objects.delete(`${old.metadata.namespace}/${old.metadata.name}`);
    this.#tell("DELETED", stamped(old, ++this.version));
    return old;
  }

  #put(type: "ADDED" | "MODIFIED", body: Record<string, unknown>): Flunder {
    // create and replace have filled the metadata in.
    const object = stamped({ ...body, apiVersion, kind: "Flunder" } as Flunder, ++this.version);
    this.#objects.set(`${object.metadata.namespace}/${object.metadata.name}`, object);
    this.#tell(type, object);
    return object;
  }

  #tell(type: FlunderEvent["type"], object: Flunder): void {
    const event = { type, object, version: this.version };
    this.#events.push(event);
    for (const tell of this.#watchers) tell(event);
  }
}

function stamped(object: Flunder, version: number): Flunder {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
}
