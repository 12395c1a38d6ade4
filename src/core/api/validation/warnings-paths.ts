/** Warnings about files of a volume that overwrite each other: equal paths, and paths within paths. */
import type { Fields } from "./fields.ts";
import { items, maybe, maybeText, part, text } from "./fields.ts";

/** A path in a volume and the source that writes it; "" for the volume itself. */
interface Source {
  readonly path: string;
  readonly from: string;
}

/** Maximum pairs of paths compared per object; 10,000 paths have 50 million pairs. */
const comparisonsMax = 100_000;

export function overlapWarnings(volumes: readonly Fields[]): readonly string[] {
  const walk = { left: comparisonsMax };
  return volumes.flatMap((volume) => [...ofOneSource(volume, walk), ...ofProjection(volume, walk)]);
}

interface Walk {
  left: number;
}

function ofOneSource(volume: Fields, walk: Walk): readonly string[] {
  const held: readonly (readonly [Fields, string])[] = [
    [part(volume, "configMap"), `ConfigMap ${quoted(part(volume, "configMap"), "name")}`],
    [part(volume, "secret"), `Secret ${quoted(part(volume, "secret"), "secretName")}`],
    [part(volume, "downwardAPI"), "DownwardAPI"],
  ];
  return held.flatMap(([source, what]) => overlaps(volume, what, pathsOf(source, ""), walk));
}

function ofProjection(volume: Fields, walk: Walk): readonly string[] {
  const out: string[] = [];
  const sources: Source[] = [];
  for (const source of items(part(volume, "projected"), "sources")) {
    if (Object.keys(source).length === 0) {
      out.push(`volume ${quoted(volume, "name")} (Projected) has no sources provided`);
    } else sources.push(...projected(source));
  }
  return [...out, ...overlaps(volume, "Projected", sources, walk)];
}

/** If several sources are set, the first one counts. */
function projected(source: Fields): readonly Source[] {
  const [configMap, secret] = [part(source, "configMap"), part(source, "secret")];
  if (items(configMap, "items").length > 0) {
    return pathsOf(configMap, `ConfigMap ${quoted(configMap, "name")}`);
  }
  if (items(secret, "items").length > 0) return pathsOf(secret, `Secret ${quoted(secret, "name")}`);
  const downward = part(source, "downwardAPI");
  if (items(downward, "items").length > 0) return pathsOf(downward, "DownwardAPI");
  const token = maybe(source, "serviceAccountToken");
  if (token !== undefined) return [{ path: text(token, "path"), from: "ServiceAccountToken" }];
  const bundle = maybe(source, "clusterTrustBundle");
  if (bundle !== undefined) {
    const name = maybeText(bundle, "name") ?? text(bundle, "signerName");
    return [{ path: text(bundle, "path"), from: `ClusterTrustBundle ${JSON.stringify(name)}` }];
  }
  const certificate = part(source, "podCertificate");
  return certificatePaths.flatMap(([field, what]) => {
    const path = text(certificate, field);
    return path === "" ? [] : [{ path, from: `PodCertificate ${what}` }];
  });
}

const certificatePaths = [
  ["certificateChainPath", "chain"],
  ["keyPath", "key"],
  ["credentialBundlePath", "credential bundle"],
] as const;

function pathsOf(source: Fields, from: string): readonly Source[] {
  return items(source, "items").map((item) => ({ path: text(item, "path"), from }));
}

function overlaps(
  volume: Fields,
  what: string,
  sources: readonly Source[],
  walk: Walk,
): readonly string[] {
  const out: string[] = [];
  const before: Source[] = [];
  for (const { path, from } of sources) {
    const source = { path: path.replace(/\/+$/, ""), from };
    walk.left -= before.length;
    if (walk.left < 0) return out;
    for (const other of before.filter((each) => isWithin(each, source))) {
      const pair = `${shown(source)} with ${shown(other)}`;
      out.push(`volume ${quoted(volume, "name")} (${what}): overlapping paths: ${pair}`);
    }
    before.push(source);
  }
  return out;
}

/** Whether the paths are equal, or one is below the other. */
function isWithin(a: Source, b: Source): boolean {
  if (a.path === "" || b.path === "") return false;
  return `${a.path}/`.startsWith(`${b.path}/`) || `${b.path}/`.startsWith(`${a.path}/`);
}

function shown({ path, from }: Source): string {
  return from === "" ? JSON.stringify(path) : `${JSON.stringify(path)} (${from})`;
}

function quoted(fields: Fields, field: string): string {
  return JSON.stringify(text(fields, field));
}
