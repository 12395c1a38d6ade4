/**
 * The remote group-versions by path, each with its server, its discovery and its OpenAPI documents.
 *
 * Holds  one entry per APIService with a Service; none for a built-in group-version.
 * Bounds `openapiKeptBytesMax` for all documents together; one entry per such APIService.
 */
import { jsonEqual } from "#api/json/json-value.ts";
import type { JsonObject } from "#api/object.ts";
import type { RemoteVersion } from "#apiserver/discovery/merged.ts";
import type { RemoteSpec, ServiceReference } from "./api-service.ts";
import { Remote, type RemoteDeps } from "./remote.ts";
import type { Discovered } from "./remote-discovery.ts";
import type { RemoteOpenapi } from "./remote-openapi.ts";

interface Entry {
  remote: Remote;
  discovered: Discovered | undefined;
  isStale: boolean;
  openapi: RemoteOpenapi | undefined;
}

export class RemoteTable {
  readonly #deps: RemoteDeps;
  readonly #keptBytesMax: number;
  readonly #byName = new Map<string, Entry>();
  readonly #byPath = new Map<string, Entry>();
  readonly #listeners = new Set<() => void>();

  constructor(deps: RemoteDeps, limits: { readonly openapiKeptBytesMax: number }) {
    this.#deps = deps;
    this.#keptBytesMax = limits.openapiKeptBytesMax;
  }

  get size(): number {
    return this.#byName.size;
  }

  at(group: string, version: string): Remote | undefined {
    return this.#byPath.get(`${group}/${version}`)?.remote;
  }

  named(name: string): Remote | undefined {
    return this.#byName.get(name)?.remote;
  }

  /** Yields the names of the remotes that the Service leads to. */
  *behind(service: Pick<ServiceReference, "namespace" | "name">): Iterable<string> {
    for (const [name, { remote }] of this.#byName) {
      const one = remote.spec.service;
      if (one.name === service.name && one.namespace === service.namespace) yield name;
    }
  }

  /** @returns which part of the remote has changed. */
  set(spec: RemoteSpec, isAvailable: boolean): "nothing" | "availability" | "spec" {
    const known = this.#byName.get(spec.name);
    const isSame = known !== undefined && jsonEqual({ ...known.remote.spec }, { ...spec });
    if (isSame && known.remote.isAvailable === isAvailable) return "nothing";
    const remote = new Remote(this.#deps, spec, isAvailable, known?.remote);
    if (known === undefined) {
      const entry = { remote, discovered: undefined, isStale: true, openapi: undefined };
      this.#byName.set(spec.name, entry);
      this.#byPath.set(`${spec.group}/${spec.version}`, entry);
    } else known.remote = remote;
    if (isSame) return "availability";
    this.#changed();
    return "spec";
  }

  delete(name: string): void {
    const entry = this.#byName.get(name);
    if (entry === undefined) return;
    const { group, version } = entry.remote.spec;
    this.#byName.delete(name);
    this.#byPath.delete(`${group}/${version}`);
    entry.remote.close();
    this.#changed();
  }

  discovered(name: string): Discovered | undefined {
    return this.#byName.get(name)?.discovered;
  }

  /** Sets the discovered resources. Undefined `found`: the remote did not answer, and its earlier resources stay, marked as stale. */
  setDiscovered(name: string, found: Discovered | undefined): void {
    const entry = this.#byName.get(name);
    if (entry === undefined) return;
    const isStale = found === undefined;
    const isNew = found !== undefined && !isSameJson(found, entry.discovered);
    if (!isNew && entry.isStale === isStale) return;
    entry.isStale = isStale;
    if (found !== undefined) entry.discovered = found;
    this.#changed();
  }

  openapi(name: string): RemoteOpenapi | undefined {
    return this.#byName.get(name)?.openapi;
  }

  /** @returns false if there is no space for the version 2 document, which is then omitted. */
  setOpenapi(name: string, openapi: RemoteOpenapi): boolean {
    const entry = this.#byName.get(name);
    if (entry === undefined) return true;
    const others = [...this.#byName.values()].filter((one) => one !== entry);
    const kept = others.reduce((sum, one) => sum + (one.openapi?.v2Bytes ?? 0), 0);
    const hasRoom = kept + openapi.v2Bytes <= this.#keptBytesMax;
    const next = hasRoom ? openapi : { v2Bytes: 0, v2Etag: "", v3Url: openapi.v3Url };
    const { openapi: before } = entry;
    entry.openapi = next;
    if (before?.v2 !== next.v2 || before?.v3Url !== next.v3Url) this.#changed();
    return hasRoom;
  }

  versions(): readonly RemoteVersion[] {
    return Array.from(this.#byName.values(), ({ remote, discovered, isStale }) => {
      const { group, version, groupPriority, versionPriority } = remote.spec;
      const resources = discovered?.resources ?? [];
      return { group, version, groupPriority, versionPriority, resources, isStale };
    });
  }

  openapiV3(): ReadonlyMap<string, string> {
    const paths = new Map<string, string>();
    for (const { remote, openapi } of this.#byName.values()) {
      const { group, version } = remote.spec;
      const url = openapi?.v3Url ?? "";
      if (url !== "") paths.set(`apis/${group}/${version}`, url);
    }
    return paths;
  }

  openapiV2(): readonly JsonObject[] {
    const documents: JsonObject[] = [];
    for (const { openapi } of this.#byName.values()) {
      if (openapi?.v2 !== undefined) documents.push(openapi.v2);
    }
    return documents;
  }

  onChange(changed: () => void): void {
    this.#listeners.add(changed);
  }

  /** Ends all connections. */
  close(): void {
    for (const { remote } of this.#byName.values()) remote.close();
  }

  #changed(): void {
    for (const changed of this.#listeners) changed();
  }
}

function isSameJson(a: Discovered, b: Discovered | undefined): boolean {
  return b !== undefined && JSON.stringify(a.resources) === JSON.stringify(b.resources);
}
