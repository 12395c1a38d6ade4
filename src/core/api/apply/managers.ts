/**
 * Field managers: converts the entries of metadata.managedFields to sets by manager, and back.
 *
 * A manager is identified by name, operation and subresource, and an updater also by the
 * version it wrote in. Entries whose set did not change are returned as they were read, so an
 * unchanged object stays equal to itself.
 */
import { isJsonObject } from "../json/json-value.ts";
import type { ManagedFieldsEntry } from "../object.ts";
import { formatTime, parseTime } from "../values/time.ts";
import { emptySet, isEmpty, setsEqual, unionAll } from "./field-set.ts";
import type { FieldSet } from "./field-set.ts";
import { formatFieldsV1, parseFieldsV1 } from "./fields-v1.ts";
import { finished, StepMeter } from "./steps.ts";
import type { Steps } from "./steps.ts";

export interface ManagerSet {
  readonly set: FieldSet;
  /** The version to which the paths belong. */
  readonly apiVersion: string;
  readonly operation: "Apply" | "Update";
  readonly manager: string;
  readonly subresource: string;
  /** Time when the manager last changed its set; undefined: unknown. */
  readonly timeMs: number | undefined;
  /** The entry it was decoded from; reused if `set` and `timeMs` have not changed. */
  readonly entry?: ManagedFieldsEntry;
}

/** By identity, see `managerId`. Immutable; each step of an update makes a new map. */
export type Managers = ReadonlyMap<string, ManagerSet>;

export const noManagers: Managers = new Map();

/** Maximum number of updaters per object; beyond it the oldest are merged into one. */
export const updateManagersMax = 10;
const ancientManager = "ancient-changes";
/** Bytes of a manager's name. */
const managerNameMax = 128;

type Identity = Pick<ManagerSet, "manager" | "operation" | "apiVersion" | "subresource">;

export function managerId({ manager, operation, apiVersion, subresource }: Identity): string {
  return JSON.stringify([
    manager,
    operation,
    operation === "Update" ? apiVersion : "",
    subresource,
  ]);
}

/** Undefined when an entry is not in the form that a server writes. */
export function decodeManagers(
  entries: readonly ManagedFieldsEntry[] | undefined,
): Managers | undefined {
  return finished(decodingManagers(entries));
}

/** `decodeManagers` as a generator of steps. */
export function* decodingManagers(
  entries: readonly ManagedFieldsEntry[] | undefined,
): Steps<Managers | undefined> {
  const managers = new Map<string, ManagerSet>();
  const meter = new StepMeter();
  for (const entry of entries ?? []) {
    const decoded = decodeEntry(entry);
    if (decoded === undefined) return undefined;
    managers.set(managerId(decoded), decoded);
    if (meter.isFull(decoded.set)) yield;
  }
  return managers;
}

function decodeEntry(entry: ManagedFieldsEntry): ManagerSet | undefined {
  const { operation, apiVersion = "", fieldsType } = entry;
  if (operation !== "Apply" && operation !== "Update") return undefined;
  if (apiVersion === "" || fieldsType !== "FieldsV1") return undefined;
  const set = parseFieldsV1(entry.fieldsV1 ?? {});
  if (set === undefined) return undefined;
  const { manager = "", subresource = "" } = entry;
  return { set, apiVersion, operation, manager, subresource, timeMs: parseTime(entry.time), entry };
}

/**
 * Returns what is wrong with entries from outside, in upstream's words; undefined: nothing.
 * `entries`: not yet checked by a decoder.
 */
export function managedFieldsFault(entries: unknown): string | undefined {
  const list: readonly unknown[] = Array.isArray(entries) ? entries : [];
  for (const [at, entry] of list.entries()) {
    const fault = entryFault(isJsonObject(entry) ? (entry as ManagedFieldsEntry) : {}, at); // each field is checked
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function entryFault(entry: ManagedFieldsEntry, at: number): string | undefined {
  const { operation, apiVersion = "", fieldsType = "" } = entry;
  if (operation !== "Apply" && operation !== "Update") {
    return "operation must be `Apply` or `Update`";
  }
  if (apiVersion === "") return "apiVersion must not be empty";
  const where = `fieldsType in managed fields entry ${at}`;
  if (fieldsType === "") return `missing ${where}`;
  if (fieldsType !== "FieldsV1") {
    return `invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${at}`;
  }
  const isSet = parseFieldsV1(entry.fieldsV1 ?? {}) !== undefined;
  return isSet ? undefined : `error decoding versioned set from managed fields entry ${at}`;
}

/** Appliers first, then by time, manager, version and subresource. Undefined when there are no managers. */
export function encodeManagers(managers: Managers): readonly ManagedFieldsEntry[] | undefined {
  return finished(encodingManagers(managers));
}

/** `encodeManagers` as a generator of steps. */
export function* encodingManagers(
  managers: Managers,
): Steps<readonly ManagedFieldsEntry[] | undefined> {
  const sorted = [...managers.values()].filter(({ set }) => !isEmpty(set)).sort(compareManagers);
  const entries: ManagedFieldsEntry[] = [];
  const meter = new StepMeter();
  for (const managed of sorted) {
    entries.push(encodeEntry(managed));
    if (managed.entry === undefined && meter.isFull(managed.set)) yield;
  }
  return entries.length === 0 ? undefined : entries;
}

function compareManagers(a: ManagerSet, b: ManagerSet): number {
  return (
    compareTexts(a.operation, b.operation) ||
    seconds(a) - seconds(b) ||
    compareTexts(a.manager, b.manager) ||
    compareTexts(a.apiVersion, b.apiVersion) ||
    compareTexts(a.subresource, b.subresource)
  );
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function seconds({ timeMs }: ManagerSet): number {
  return timeMs === undefined ? 0 : Math.floor(timeMs / 1000);
}

function encodeEntry(managed: ManagerSet): ManagedFieldsEntry {
  const { manager, operation, apiVersion, timeMs, set, subresource, entry } = managed;
  if (entry !== undefined) return entry;
  return {
    ...(manager === "" ? {} : { manager }),
    operation,
    apiVersion,
    ...(timeMs === undefined ? {} : { time: formatTime(timeMs) }),
    fieldsType: "FieldsV1",
    fieldsV1: formatFieldsV1(set),
    ...(subresource === "" ? {} : { subresource }),
  };
}

/** The manager with another set; its entry is kept if the set is the same. */
export function withSet(managed: ManagerSet, set: FieldSet): ManagerSet {
  if (setsEqual(set, managed.set)) return managed;
  const { entry: _, ...rest } = managed;
  return { ...rest, set };
}

/** With the entries whose set is empty left out. */
export function withoutEmpty(managers: Managers): Managers {
  return new Map([...managers].filter(([, { set }]) => !isEmpty(set)));
}

/** Whether the client asks to reset managedFields: with an empty list, or one empty entry. */
export function isReset(entries: readonly ManagedFieldsEntry[] | undefined): boolean {
  if (entries === undefined) return false;
  const [entry, ...more] = entries;
  if (entry === undefined) return true;
  return isJsonObject(entry) && more.length === 0 && Object.keys(entry).length === 0;
}

/** Keeps at most `updateManagersMax` updaters: the oldest ones of each version are merged. */
export function capManagers(managers: Managers): Managers {
  const updaters = [...managers.values()].filter((m) => m.operation === "Update");
  let excess = updaters.length - updateManagersMax;
  if (excess <= 0) return managers;
  const capped = new Map(managers);
  const firsts = new Map<string, ManagerSet>();
  /** Sets to be merged, by version; the union is computed at the end. */
  const merged = new Map<string, { readonly entry: ManagerSet; readonly sets: FieldSet[] }>();
  for (const updater of updaters.sort(compareManagers)) {
    if (excess === 0) break;
    const first = firsts.get(updater.apiVersion);
    if (first === undefined) {
      firsts.set(updater.apiVersion, updater);
      continue;
    }
    capped.delete(managerId(first));
    capped.delete(managerId(updater));
    const entry = ancientEntry(updater);
    const sets = merged.get(updater.apiVersion)?.sets ?? [first.set];
    sets.push(updater.set, capped.get(managerId(entry))?.set ?? emptySet);
    merged.set(updater.apiVersion, { entry, sets });
    capped.set(managerId(entry), entry);
    firsts.set(updater.apiVersion, entry);
    excess -= 1;
  }
  for (const { entry, sets } of merged.values()) {
    capped.set(managerId(entry), { ...entry, set: unionAll(sets) });
  }
  return capped;
}

/** The entry into which the oldest are merged, with an empty set; its time is that of the latest of them. */
function ancientEntry({ apiVersion, timeMs }: ManagerSet): ManagerSet {
  return {
    set: emptySet,
    apiVersion,
    operation: "Update",
    manager: ancientManager,
    subresource: "",
    timeMs,
  };
}

/** The manager's name: the request's fieldManager, else the user agent up to its first slash. */
export function managerName(fieldManager: string, userAgent: string): string {
  if (fieldManager !== "") return fieldManager;
  const encoder = new TextEncoder();
  let name = "";
  let bytes = 0;
  for (const character of userAgent.split("/")[0] ?? "") {
    if (/[\p{C}\p{Zl}\p{Zp}]/u.test(character)) continue;
    bytes += encoder.encode(character).byteLength;
    if (bytes > managerNameMax) break;
    name += character;
  }
  return name;
}
