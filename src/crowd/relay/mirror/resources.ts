/**
 * Which resources to mirror: names as an operator writes them, looked up in the upstream's discovery.
 *
 *   pods   apps/v1/deployments   v1/configmaps   deployments.apps   all
 *
 * A name without a version takes the group's preferred one. `all` is everything that can be listed and
 * watched, once per served resource in its preferred version. A name that is not served yet is awaited
 * when a CustomResourceDefinition can bring it, that is, when it says a group with a dot:
 * `widgets.example.com`, `example.com/v1/widgets`; any other is a mistake.
 *
 * A group whose API server is away (an APIService without endpoints) is left out and logged; its requests
 * pass through. It does not prevent the start.
 */
import { definitionsKind, kindId, type MirroredKind } from "./mirrored-kind.ts";

interface ApiResource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

interface DiscoveryReader {
  /** Returns the parsed JSON of a discovery path. */
  read(path: string): Promise<unknown>;
  /** Called for a group version whose discovery document cannot be read. */
  readonly unread: (path: string, error: DiscoveryError) => void;
}

/** The upstream answered, but not with the document. */
export class DiscoveryError extends Error {
  readonly status: number;

  constructor(status: number, path: string, text: string) {
    super(`upstream answers ${status} to ${path}: ${text}`);
    this.name = "DiscoveryError";
    this.status = status;
  }
}

export class UnknownResourceError extends Error {
  constructor(names: readonly string[]) {
    super(`the upstream serves no resource that can be listed and watched: ${names.join(", ")}`);
    this.name = "UnknownResourceError";
  }
}

/** Returns all kinds that can be mirrored, preferred versions first. */
export async function discover(reader: DiscoveryReader): Promise<readonly MirroredKind[]> {
  const kinds = await groupVersion(reader, "", "v1");
  const groups = fieldOf<readonly ApiGroup[]>(await reader.read("/apis"), "groups") ?? [];
  for (const group of groups) {
    const preferred = group.preferredVersion?.version;
    const versions = group.versions.map(({ version }) => version);
    versions.sort((a, b) => Number(b === preferred) - Number(a === preferred));
    for (const version of versions) kinds.push(...(await listServed(reader, group.name, version)));
  }
  return kinds;
}

async function listServed(
  reader: DiscoveryReader,
  group: string,
  version: string,
): Promise<readonly MirroredKind[]> {
  try {
    return await groupVersion(reader, group, version);
  } catch (error) {
    if (!(error instanceof DiscoveryError)) throw error;
    reader.unread(`/apis/${group}/${version}`, error);
    return [];
  }
}

interface ApiGroup {
  readonly name: string;
  readonly versions: readonly { readonly version: string }[];
  readonly preferredVersion?: { readonly version: string };
}

async function groupVersion(
  reader: DiscoveryReader,
  group: string,
  version: string,
): Promise<MirroredKind[]> {
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const listed = fieldOf<readonly ApiResource[]>(await reader.read(path), "resources") ?? [];
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return listed
    .filter(({ name, verbs }) => !name.includes("/") && canMirror(verbs))
    .map(({ name, kind, namespaced }) => {
      return { group, version, resource: name, kind, namespaced, apiVersion };
    });
}

function canMirror(verbs: readonly string[]): boolean {
  return verbs.includes("list") && verbs.includes("watch");
}

export interface Chosen {
  /** Selected kinds that the upstream serves now. */
  readonly kinds: readonly MirroredKind[];
  /** Names of resources that may be defined later. */
  readonly awaited: readonly string[];
  /** Absent: the upstream has no custom resources, or none is selected. */
  readonly custom?: CustomChoice;
}

export interface CustomChoice {
  /** The kind CustomResourceDefinition. */
  readonly definitions: MirroredKind;
  /** `all`, or names that include their group. */
  readonly names: readonly string[];
}

/** Throws UnknownResourceError with all unknown names. */
export function chooseResources(all: readonly MirroredKind[], names: readonly string[]): Chosen {
  const definitions = all.find((kind) => kindId(kind) === kindId(definitionsKind));
  const isAll = names.includes("all");
  const found = new Map(
    (isAll ? firstOfEach(all) : []).map((kind) => [kindId(kind), kind] as const),
  );
  const awaited: string[] = [];
  const customNames: string[] = isAll ? ["all"] : [];
  for (const name of names.filter((one) => one !== "all")) {
    const kind = all.find((candidate) => isNamed(candidate, name));
    if (kind === undefined) awaited.push(name);
    else found.set(kindId(kind), kind);
    if (kind === undefined || hasDot(kind.group)) customNames.push(withGroup(name, kind));
  }
  const unknown = awaited.filter((name) => definitions === undefined || !mayCome(name));
  if (unknown.length > 0) throw new UnknownResourceError(unknown);
  const kinds = [...found.values()];
  if (definitions === undefined || customNames.length === 0) return { kinds, awaited };
  return { kinds, awaited, custom: { definitions, names: customNames } };
}

/** Whether the group contains a dot, as the group of a custom resource definition must. */
function hasDot(group: string): boolean {
  return group.includes(".");
}

function mayCome(name: string): boolean {
  const parts = name.split("/");
  if (parts.includes("")) return false;
  const [first = ""] = parts;
  if (parts.length === 3) return hasDot(first);
  return parts.length === 1 && hasDot(first.slice(first.indexOf(".") + 1)) && first.includes(".");
}

/** Adds the group to a bare resource name; otherwise definitions of other groups with the same name would be mirrored too. */
function withGroup(name: string, kind: MirroredKind | undefined): string {
  return kind !== undefined && name === kind.resource ? `${name}.${kind.group}` : name;
}

/** Returns the first version of each resource; in `all` that is the preferred one. */
function firstOfEach(all: readonly MirroredKind[]): readonly MirroredKind[] {
  const found = new Map<string, MirroredKind>();
  for (const kind of all) {
    const key = `${kind.group}/${kind.resource}`;
    if (!found.has(key)) found.set(key, kind);
  }
  return [...found.values()];
}

export function isNamed(kind: MirroredKind, name: string): boolean {
  const { apiVersion, resource, group } = kind;
  return (
    name === resource || name === `${apiVersion}/${resource}` || name === `${resource}.${group}`
  );
}

/** Decodes a field of a discovery document; a missing field is undefined. */
function fieldOf<T>(document: unknown, field: string): T | undefined {
  if (typeof document !== "object" || document === null) return undefined;
  return (document as Readonly<Record<string, T | undefined>>)[field];
}
