/**
 * An API server in memory for tests: a Client with objects, resourceVersions, watches, status and
 * binding subresources, graceful deletion and finalizers. It has no admission, validation, defaults,
 * authorisation or garbage collection.
 *
 * Holds  one counter of resourceVersions; every write is visible to `get` at once and to watches a
 *        microtask later, in order.
 * Tests  read `calls`, seed with `put`, cause failures with `fail`, `cutWatches`, `compact`.
 */
import { compactFields, compactLabels } from "#api/selectors/compact-selector.ts";
import { parseFieldSelector } from "#api/selectors/field-selector.ts";
import {
  formatLabelSelector,
  type LabelSelectorSpec,
  parseLabelSelector,
} from "#api/selectors/label-selector.ts";
import type { AnyObject, KubeObject, ObjectMeta } from "#api/object.ts";
import { fieldValue } from "#api/selectors/selectable-fields.ts";
import { alreadyExists, badRequest, conflict, conflictModified } from "#api/status.ts";
import { expiredError, invalid, noSuchPath, notFound } from "#api/status.ts";
import { formatTime } from "#api/values/time.ts";
import type { Clock } from "#platform/clock.ts";
import type { WatchEventType } from "#platform/http.ts";
import type {
  CallOptions,
  Client,
  DeleteCall,
  ListCall,
  ListOf,
  PatchType,
  ResourceRef,
  WatchCall,
  WatchedEvent,
} from "../client.ts";
import { deepFreeze } from "../freeze.ts";
import { keyOf, objectKey } from "../indexer.ts";
import { applyFakePatch } from "./fake-patch.ts";

/** A request as received by the fake; `body` is what was sent. */
export interface FakeCall {
  readonly verb:
    | "get"
    | "list"
    | "create"
    | "update"
    | "patch"
    | "delete"
    | "deletecollection"
    | "watch";
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  readonly body: unknown;
}

export interface FakeApi extends Client {
  /** Every request since the start or since `calls.length = 0`. */
  readonly calls: FakeCall[];
  /** Stores the object unchanged, including its status, adding or replacing it; returns the stored object. */
  put<T extends KubeObject>(ref: ResourceRef, object: T): T;
  /** Removes an object immediately, ignoring finalizers and grace periods. */
  drop(ref: ResourceRef, namespace: string, name: string): void;
  /** The stored object, without a call. */
  peek<T extends KubeObject>(ref: ResourceRef, namespace: string, name: string): T | undefined;
  peekAll<T extends KubeObject>(ref: ResourceRef, namespace?: string): readonly T[];
  /** Makes the next `times` calls for which `when` holds throw `error`. */
  fail(when: (call: FakeCall) => boolean, error: Error, times?: number): void;
  /** Blocks matching calls until the returned function is called. */
  block(when: (call: FakeCall) => boolean): () => void;
  /** Sets the answer of `raw` for the path; other paths below `/apis/` answer 404. */
  answer(path: string, body: unknown): void;
  /** Ends all watches like a broken connection. */
  cutWatches(): void;
  /** Drops the history, so that a watch from an older version gets 410. */
  compact(): void;
  readonly watchCount: number;
  readonly resourceVersion: string;
}

export function createFakeApi(deps: { clock: Clock }): FakeApi {
  return new MemoryApi(deps.clock);
}

function connectionReset(): Error {
  return Object.assign(new Error("connection reset"), { code: "ECONNRESET" });
}

interface Happened {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: AnyObject;
  readonly old: AnyObject | undefined;
}

interface Table {
  readonly ref: ResourceRef;
  readonly objects: Map<string, AnyObject>;
  readonly history: Happened[];
  readonly watches: Set<FakeWatch>;
}

interface FakeWatch {
  readonly matches: (object: AnyObject) => boolean;
  readonly deliver: (events: readonly WatchedEvent<AnyObject>[]) => void;
  readonly end: (error?: Error) => void;
  next: number;
  scheduled: boolean;
}

/** Kinds whose status can only be written through the status subresource. */
const withStatus: ReadonlySet<string> = new Set([
  "pods",
  "nodes",
  "namespaces",
  "services",
  "deployments",
  "replicasets",
  "statefulsets",
  "daemonsets",
  "jobs",
  "cronjobs",
  "replicationcontrollers",
  "poddisruptionbudgets",
  "resourcequotas",
  "horizontalpodautoscalers",
  "persistentvolumes",
  "persistentvolumeclaims",
  "certificatesigningrequests",
  "customresourcedefinitions",
]);

class MemoryApi implements FakeApi {
  readonly calls: FakeCall[] = [];
  readonly #clock: Clock;
  readonly #tables = new Map<string, Table>();
  readonly #answers = new Map<string, unknown>();
  readonly #failures: { when: (call: FakeCall) => boolean; error: Error; times: number }[] = [];
  readonly #blocks = new Set<{ when: (call: FakeCall) => boolean; until: Promise<void> }>();
  #version = 100;
  #compactVersion = 100;
  #uids = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get resourceVersion(): string {
    return String(this.#version);
  }

  get watchCount(): number {
    let count = 0;
    for (const table of this.#tables.values()) count += table.watches.size;
    return count;
  }

  put<T extends KubeObject>(ref: ResourceRef, object: T): T {
    const table = this.#table(ref);
    const old = table.objects.get(keyOf(object));
    const { uid, creationTimestamp } = old?.metadata ?? this.#birth();
    const metadata = { uid, creationTimestamp, ...object.metadata };
    return this.#store(table, { ...object, metadata } as unknown as AnyObject, old) as unknown as T;
  }

  drop(ref: ResourceRef, namespace: string, name: string): void {
    const table = this.#table(ref);
    const old = table.objects.get(objectKey(namespace, name));
    if (old !== undefined) this.#remove(table, old);
  }

  peek<T extends KubeObject>(ref: ResourceRef, namespace: string, name: string): T | undefined {
    return this.#table(ref).objects.get(objectKey(namespace, name)) as unknown as T | undefined;
  }

  peekAll<T extends KubeObject>(ref: ResourceRef, namespace?: string): readonly T[] {
    const all = [...this.#table(ref).objects.values()] as unknown as T[];
    return all.filter((o) => namespace === undefined || o.metadata?.namespace === namespace);
  }

  fail(when: (call: FakeCall) => boolean, error: Error, times = 1): void {
    this.#failures.push({ when, error, times });
  }

  block(when: (call: FakeCall) => boolean): () => void {
    let open = (): void => {};
    const until = new Promise<void>((resolve) => {
      open = resolve;
    });
    const block = { when, until };
    this.#blocks.add(block);
    return () => {
      this.#blocks.delete(block);
      open();
    };
  }

  cutWatches(): void {
    for (const table of this.#tables.values()) {
      for (const watch of table.watches) watch.end(connectionReset());
    }
  }

  compact(): void {
    this.#compactVersion = this.#version;
    for (const { history, watches } of this.#tables.values()) {
      // As a server does, ends a watch that is behind the history instead of leaving a gap.
      for (const watch of watches) {
        if (history.some(({ version }) => version > watch.next)) watch.end(connectionReset());
      }
      history.length = 0;
    }
  }

  async get<T extends KubeObject>(
    ref: ResourceRef,
    namespace: string,
    name: string,
    options: CallOptions = {},
  ): Promise<T> {
    await this.#enter("get", ref, namespace, name, options.subresource);
    const object = this.#must(ref, namespace, name);
    return (options.subresource === "scale" ? scaleOf(object) : object) as unknown as T;
  }

  async list<T extends KubeObject>(ref: ResourceRef, call: ListCall): Promise<ListOf<T>> {
    await this.#enter("list", ref, call.namespace, "");
    const table = this.#table(ref);
    const matches = this.#selector(ref, call);
    const items = [...table.objects.values()].filter(matches);
    items.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const metadata = { resourceVersion: this.resourceVersion };
    return { metadata, items } as unknown as ListOf<T>;
  }

  async create<T extends KubeObject>(
    ref: ResourceRef,
    namespace: string,
    object: T,
    options: CallOptions = {},
  ): Promise<T> {
    const name = object.metadata?.name ?? "";
    await this.#enter("create", ref, namespace, name, options.subresource, object);
    if (options.subresource !== undefined) return object;
    const table = this.#table(ref);
    const given = object.metadata ?? {};
    if (given.name === undefined && given.generateName === undefined) {
      throw invalid({ group: ref.group, kind: object.kind ?? ref.resource }, "", [
        { reason: "FieldValueRequired", field: "metadata.name", message: "Required value" },
      ]);
    }
    const made: ObjectMeta = {
      ...given,
      name: given.name ?? `${given.generateName}${this.#suffix()}`,
      ...(namespace === "" ? {} : { namespace }),
      ...this.#birth(),
      generation: 1,
    };
    const whole = { ...born(ref, object), metadata: made } as unknown as AnyObject;
    if (table.objects.has(keyOf(whole))) throw alreadyExists(ref, made.name ?? "");
    if (options.dryRun === true) return deepFreeze(whole) as unknown as T;
    return this.#store(table, whole, undefined) as unknown as T;
  }

  async createSub(
    ref: ResourceRef,
    namespace: string,
    name: string,
    subresource: string,
    object: AnyObject,
  ): Promise<AnyObject> {
    await this.#enter("create", ref, namespace, name, subresource, object);
    const current = this.#must(ref, namespace, name);
    if (subresource === "eviction") {
      this.#delete(ref, namespace, name, {});
    } else if (subresource === "binding") {
      this.#store(this.#table(ref), this.#bound(ref, current, object), current);
    } else return object;
    return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };
  }

  async update<T extends KubeObject>(
    ref: ResourceRef,
    namespace: string,
    object: T,
    options: CallOptions = {},
  ): Promise<T> {
    const name = object.metadata?.name ?? "";
    await this.#enter("update", ref, namespace, name, options.subresource, object);
    const next = object as unknown as AnyObject;
    return this.#write(ref, namespace, name, options, () => next) as unknown as T;
  }

  async patch<T extends KubeObject>(
    ref: ResourceRef,
    namespace: string,
    name: string,
    type: PatchType,
    patch: unknown,
    options: CallOptions = {},
  ): Promise<T> {
    await this.#enter("patch", ref, namespace, name, options.subresource, patch);
    if (type === "apply" && this.peek(ref, namespace, name) === undefined) {
      this.put(ref, { ...(patch as KubeObject) });
    }
    const change = (current: AnyObject) => applyFakePatch(current, type, patch);
    return this.#write(ref, namespace, name, options, change) as unknown as T;
  }

  async delete(
    ref: ResourceRef,
    namespace: string,
    name: string,
    options: DeleteCall = {},
  ): Promise<AnyObject> {
    await this.#enter("delete", ref, namespace, name, options.subresource, options);
    return this.#delete(ref, namespace, name, options);
  }

  async deleteCollection(
    ref: ResourceRef,
    namespace: string,
    call: ListCall & DeleteCall,
  ): Promise<void> {
    await this.#enter("deletecollection", ref, namespace, "");
    const matches = this.#selector(ref, { ...call, namespace });
    for (const object of [...this.#table(ref).objects.values()].filter(matches)) {
      this.#delete(ref, object.metadata?.namespace ?? "", object.metadata?.name ?? "", call);
    }
  }

  async watch<T extends KubeObject>(
    ref: ResourceRef,
    call: WatchCall,
    deliver: (events: readonly WatchedEvent<T>[]) => void,
  ): Promise<void> {
    await this.#enter("watch", ref, call.namespace, "", "", call);
    const table = this.#table(ref);
    const since = Number(call.resourceVersion ?? "0");
    if (since !== 0 && since < this.#compactVersion) {
      const gone = expiredError(`too old resource version: ${since} (${this.#compactVersion})`);
      deliver([{ type: "ERROR", object: gone.status as unknown as T }]);
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const watch: FakeWatch = {
        matches: this.#selector(ref, call),
        deliver: deliver as unknown as FakeWatch["deliver"],
        end: (error) => {
          table.watches.delete(watch);
          if (error === undefined) resolve();
          else reject(error);
        },
        next: since,
        scheduled: false,
      };
      if (call.signal.aborted) return resolve();
      call.signal.addEventListener("abort", () => watch.end(), { once: true });
      if (since === 0) this.#initialEvents(table, watch);
      table.watches.add(watch);
      this.#schedule(table, watch);
    });
  }

  answer(path: string, body: unknown): void {
    this.#answers.set(path, body);
  }

  raw(path: string): Promise<unknown> {
    const body = this.#answers.get(path);
    if (body !== undefined) return Promise.resolve(body);
    if (path.startsWith("/apis/")) return Promise.reject(noSuchPath());
    return Promise.reject(badRequest(`the fake API has no ${path}`));
  }

  async #enter(
    verb: FakeCall["verb"],
    ref: ResourceRef,
    namespace = "",
    name = "",
    subresource = "",
    body?: unknown,
  ): Promise<void> {
    const { resource } = ref;
    const call: FakeCall = { verb, resource, namespace, name, subresource, body };
    this.calls.push(call);
    await Promise.resolve();
    for (const block of this.#blocks) if (block.when(call)) await block.until;
    const failure = this.#failures.find((f) => f.times > 0 && f.when(call));
    if (failure === undefined) return;
    failure.times--;
    throw failure.error;
  }

  #table(ref: ResourceRef): Table {
    // Versions of one group share their objects, as in storage.
    const key = `${ref.group}/${ref.resource}`;
    let table = this.#tables.get(key);
    if (table === undefined) {
      table = { ref, objects: new Map(), history: [], watches: new Set() };
      this.#tables.set(key, table);
    }
    return table;
  }

  #must(ref: ResourceRef, namespace: string, name: string): AnyObject {
    const object = this.#table(ref).objects.get(objectKey(namespace, name));
    if (object === undefined) throw notFound(ref, name);
    return object;
  }

  #birth(): { readonly uid: string; readonly creationTimestamp: string } {
    const uid = `00000000-0000-4000-8000-${String(++this.#uids).padStart(12, "0")}`;
    return { uid, creationTimestamp: formatTime(this.#clock.nowMs()) };
  }

  #suffix(): string {
    const alphabet = "bcdfghjklmnpqrstvwxz2456789";
    let rest = ++this.#uids;
    let text = "";
    for (let i = 0; i < 5; i++) {
      text = `${alphabet[rest % alphabet.length]}${text}`;
      rest = Math.floor(rest / alphabet.length);
    }
    return text;
  }

  #store(table: Table, object: AnyObject, old: AnyObject | undefined): AnyObject {
    const version = ++this.#version;
    const metadata = { ...object.metadata, resourceVersion: String(version) };
    const stored = deepFreeze(structuredClone({ ...object, metadata }));
    table.objects.set(keyOf(stored), stored);
    const type = old === undefined ? "ADDED" : "MODIFIED";
    this.#publish(table, { version, type, object: stored, old });
    return stored;
  }

  #remove(table: Table, old: AnyObject): AnyObject {
    const version = ++this.#version;
    const metadata = { ...old.metadata, resourceVersion: String(version) };
    const last = deepFreeze({ ...old, metadata });
    table.objects.delete(keyOf(old));
    this.#publish(table, { version, type: "DELETED", object: last, old });
    return last;
  }

  #write(
    ref: ResourceRef,
    namespace: string,
    name: string,
    options: CallOptions,
    change: (current: AnyObject) => AnyObject,
  ): AnyObject {
    const table = this.#table(ref);
    const current = this.#must(ref, namespace, name);
    if (options.subresource === "scale") return this.#rescale(table, current, change);
    const wanted = change(current);
    const version = wanted.metadata?.resourceVersion;
    if (version !== undefined && version !== current.metadata?.resourceVersion) {
      throw conflict(ref, name, conflictModified);
    }
    const uid = wanted.metadata?.uid;
    if (uid !== undefined && uid !== current.metadata?.uid) {
      const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata?.uid}`;
      throw conflict(ref, name, why);
    }
    const next = settled(ref, current, wanted, options.subresource ?? "");
    if (options.dryRun === true || sameObject(next, current)) return current;
    const finished = next.metadata?.deletionTimestamp !== undefined && noFinalizers(next);
    const grace = next.metadata?.deletionGracePeriodSeconds ?? 0;
    if (finished && (ref.resource !== "pods" || grace === 0)) return this.#remove(table, next);
    return this.#store(table, next, current);
  }

  #rescale(table: Table, current: AnyObject, change: (scale: AnyObject) => AnyObject): AnyObject {
    const scale = change(scaleOf(current));
    const wanted = (scale["spec"] as { readonly replicas?: number } | undefined)?.replicas ?? 0;
    const spec = { ...(current["spec"] as object), replicas: wanted };
    return scaleOf(this.#store(table, bumped({ ...current, spec }), current));
  }

  #bound(ref: ResourceRef, pod: AnyObject, binding: AnyObject): AnyObject {
    const spec = (pod["spec"] ?? {}) as { readonly nodeName?: string };
    const name = pod.metadata?.name ?? "";
    const target = (binding["target"] as { readonly name?: string } | undefined)?.name ?? "";
    if (spec.nodeName !== undefined && spec.nodeName !== "") {
      throw conflict(ref, name, `pod ${name} is already assigned to node "${spec.nodeName}"`);
    }
    if (pod.metadata?.deletionTimestamp !== undefined) {
      throw conflict(ref, name, `pod ${name} is being deleted, cannot be assigned to a host`);
    }
    const status = (pod["status"] ?? {}) as { readonly conditions?: readonly AnyObject[] };
    const others = (status.conditions ?? []).filter((c) => c["type"] !== "PodScheduled");
    const scheduled = { type: "PodScheduled", status: "True" };
    const nextStatus = { ...status, conditions: [...others, scheduled] };
    return { ...pod, spec: { ...spec, nodeName: target }, status: nextStatus };
  }

  #delete(ref: ResourceRef, namespace: string, name: string, options: DeleteCall): AnyObject {
    const table = this.#table(ref);
    const current = this.#must(ref, namespace, name);
    checkPreconditions(ref, current, options);
    const grace = gracePeriod(ref, current, options);
    const finalizers = [...(current.metadata?.finalizers ?? [])];
    if (options.propagationPolicy === "Foreground") finalizers.push("foregroundDeletion");
    if (options.propagationPolicy === "Orphan") finalizers.push("orphan");
    if (grace === 0 && finalizers.length === 0) {
      this.#remove(table, current);
      const details = { name, kind: ref.resource, uid: current.metadata?.uid };
      return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details };
    }
    const known = current.metadata?.deletionTimestamp;
    const knownGrace = current.metadata?.deletionGracePeriodSeconds ?? 0;
    if (known !== undefined && knownGrace <= grace) return current;
    const metadata: ObjectMeta = {
      ...current.metadata,
      deletionTimestamp: formatTime(this.#clock.nowMs() + grace * 1_000),
      deletionGracePeriodSeconds: grace,
      ...(finalizers.length === 0 ? {} : { finalizers: [...new Set(finalizers)] }),
    };
    return this.#store(table, { ...current, metadata }, current);
  }

  #selector(ref: ResourceRef, call: ListCall): (object: AnyObject) => boolean {
    const labels = compactLabels(parseLabelSelector(call.labelSelector ?? ""));
    const fields = compactFields(parseFieldSelector(call.fieldSelector ?? ""));
    const namespace = call.namespace ?? "";
    return (object) =>
      (namespace === "" || object.metadata?.namespace === namespace) &&
      labels.matches(object.metadata?.labels ?? {}) &&
      fields.matches((field) => fieldValue(ref.group, ref.resource, object, field));
  }

  #publish(table: Table, happened: Happened): void {
    table.history.push(happened);
    for (const watch of table.watches) this.#schedule(table, watch);
  }

  #schedule(table: Table, watch: FakeWatch): void {
    if (watch.scheduled) return;
    watch.scheduled = true;
    queueMicrotask(() => {
      watch.scheduled = false;
      if (table.watches.has(watch)) this.#flush(table, watch);
    });
  }

  #flush(table: Table, watch: FakeWatch): void {
    const events: WatchedEvent<AnyObject>[] = [];
    for (const happened of table.history) {
      if (happened.version <= watch.next) continue;
      watch.next = happened.version;
      const type = seenAs(watch, happened);
      if (type !== undefined) events.push({ type, object: happened.object });
    }
    if (events.length > 0) watch.deliver(events);
  }

  #initialEvents(table: Table, watch: FakeWatch): void {
    watch.next = this.#version;
    const matching = [...table.objects.values()].filter(watch.matches);
    const events = matching.map((object) => ({ type: "ADDED" as const, object }));
    if (events.length > 0) queueMicrotask(() => watch.deliver(events));
  }
}

/** As upstream, an object that starts or stops matching the selector is ADDED or DELETED. */
function seenAs(watch: FakeWatch, happened: Happened): WatchEventType | undefined {
  const before = happened.old !== undefined && watch.matches(happened.old);
  const now = happened.type !== "DELETED" && watch.matches(happened.object);
  if (now) return before ? "MODIFIED" : "ADDED";
  return before ? "DELETED" : undefined;
}

function born(ref: ResourceRef, object: KubeObject): KubeObject {
  if (ref.resource !== "pods" || ref.group !== "") return object;
  return { ...object, status: { phase: "Pending", qosClass: "BestEffort" } } as KubeObject;
}

function settled(
  ref: ResourceRef,
  current: AnyObject,
  wanted: AnyObject,
  subresource: string,
): AnyObject {
  if (subresource === "finalize") return { ...current, spec: wanted["spec"] };
  if (subresource !== "") {
    const changed = { ...current, status: wanted["status"] };
    // A status write of a Deployment may change its annotations, which contain its revision.
    if (ref.resource !== "deployments") return changed;
    const annotations = wanted.metadata?.annotations;
    return { ...changed, metadata: { ...current.metadata, ...definedOnly({ annotations }) } };
  }
  const kept = withStatus.has(ref.resource) ? { status: current["status"] } : {};
  const { name, namespace, uid, creationTimestamp, deletionTimestamp } = current.metadata ?? {};
  const fixed = definedOnly({ name, namespace, uid, creationTimestamp, deletionTimestamp });
  const generation = current.metadata?.generation;
  const grace = current.metadata?.deletionGracePeriodSeconds;
  const metadata = {
    ...wanted.metadata,
    ...fixed,
    ...definedOnly({ generation, deletionGracePeriodSeconds: grace }),
  };
  const next: AnyObject = { ...wanted, ...kept, metadata };
  const specChanged = JSON.stringify(next["spec"]) !== JSON.stringify(current["spec"]);
  return specChanged ? bumped(next) : next;
}

function bumped(object: AnyObject): AnyObject {
  const generation = (object.metadata?.generation ?? 0) + 1;
  return { ...object, metadata: { ...object.metadata, generation } };
}

function definedOnly(fields: Record<string, unknown>): ObjectMeta {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function sameObject(a: AnyObject, b: AnyObject): boolean {
  const bare = (o: AnyObject): string =>
    JSON.stringify({ ...o, metadata: { ...o.metadata, resourceVersion: "" } });
  return bare(a) === bare(b);
}

function noFinalizers(object: AnyObject): boolean {
  return (object.metadata?.finalizers ?? []).length === 0;
}

function checkPreconditions(ref: ResourceRef, current: AnyObject, options: DeleteCall): void {
  const name = current.metadata?.name ?? "";
  const { uid, resourceVersion } = options.preconditions ?? {};
  if (uid !== undefined && uid !== current.metadata?.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata?.uid}`;
    throw conflict(ref, name, why);
  }
  const version = current.metadata?.resourceVersion;
  if (resourceVersion !== undefined && resourceVersion !== version) {
    const why = `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${version}`;
    throw conflict(ref, name, why);
  }
}

/** As upstream's pod strategy: zero when unscheduled or finished. */
function gracePeriod(ref: ResourceRef, current: AnyObject, options: DeleteCall): number {
  if (ref.resource !== "pods") return 0;
  const spec = (current["spec"] ?? {}) as {
    readonly nodeName?: string;
    readonly terminationGracePeriodSeconds?: number;
  };
  const phase = ((current["status"] ?? {}) as { readonly phase?: string }).phase;
  if (spec.nodeName === undefined || spec.nodeName === "") return 0;
  if (phase === "Succeeded" || phase === "Failed") return 0;
  const asked = options.gracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30;
  return asked < 0 ? 1 : asked;
}

function scaleOf(object: AnyObject): AnyObject {
  const { name, namespace, uid, resourceVersion } = object.metadata ?? {};
  const spec = (object["spec"] ?? {}) as {
    readonly replicas?: number;
    readonly selector?: LabelSelectorSpec;
  };
  const selector = formatLabelSelector(spec.selector);
  const status = (object["status"] ?? {}) as { readonly replicas?: number };
  return {
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    metadata: definedOnly({ name, namespace, uid, resourceVersion }),
    spec: { replicas: spec.replicas ?? 1 },
    status: {
      replicas: status.replicas ?? 0,
      ...(selector.startsWith("<") ? {} : { selector }),
    },
  };
}
