/**
 * Names, headers and the format file of a store directory. FORMAT.md has the tables and reasons.
 *
 *   FORMAT                        two lines of text: what this is, and the store's id
 *   log-0000000000000007          segment 7: a 4 KiB header, then records, then zeros
 *   checkpoint-0000000000012345   the state at revision 12345: a header, then records
 *   packed-0000000000012345       the same, compressed, read when the one after it is damaged (packed.ts)
 *   NEWEST                        the number of the last segment that holds records (newest.ts)
 *   ALARMS                        the alarms that the etcd API must keep (#etcd/alarm-file.ts)
 *   *.tmp                         being written; removed at the next start
 *   LOCK*                         the host's directory lock
 */
import { crc32c } from "#base/crc32c.ts";
import { lockFilePrefix } from "#platform/disk.ts";
import { CorruptionError } from "../engine.ts";

/** Format version that is written. */
export const formatVersion = 2;
/** Oldest format version that is read. Format 1 had another record checksum, which is recognised by the record marks. */
const formatOldest = 1;
export const formatFileName = "FORMAT";
export const newestFileName = "NEWEST";
export const alarmsFileName = "ALARMS";
const fixedNames: readonly string[] = [
  formatFileName,
  newestFileName,
  alarmsFileName,
  "lost+found",
];
export const temporarySuffix = ".tmp";
/** One page, so that no batch overwrites the page of the header. */
export const fileHeaderBytes = 4096;

const headerCrcAt = 60;
const numberDigits = 16;
const namePattern = /^(log|checkpoint|packed)-(\d{16})$/;

/** Kinds of files that begin with a header. */
type HeadedKind = "log" | "checkpoint";

export interface FileName {
  readonly kind: HeadedKind | "packed";
  /** The sequence number of a segment, or the revision of a checkpoint. */
  readonly number: number;
}

function fileName({ kind, number }: FileName): string {
  return `${kind}-${String(number).padStart(numberDigits, "0")}`;
}

export function pathOf(directory: string, name: FileName): string {
  return `${directory}/${fileName(name)}`;
}

export function parseFileName(name: string): FileName | undefined {
  const match = namePattern.exec(name);
  if (match === null) return undefined;
  return { kind: match[1] as FileName["kind"], number: Number(match[2]) };
}

/** Whether a store directory may contain a file of this name besides its own. */
export function isOurs(name: string): boolean {
  if (fixedNames.includes(name)) return true;
  if (name.startsWith(lockFilePrefix) || name.endsWith(temporarySuffix)) return true;
  return parseFileName(name) !== undefined;
}

export interface FileHeader {
  readonly kind: HeadedKind;
  /** The store's id, as in FORMAT; a file of another store is refused. */
  readonly storeId: string;
  readonly number: number;
  /** Segment: the head revision before its first record. Checkpoint: its revision. */
  readonly revision: number;
  /** Segment: the end of the records in the previous one; 0 for the first. */
  readonly previousEnd: number;
  readonly epoch: number;
}

/** The header as read. This version may not know its `format`: see `unreadFormat`. */
interface FoundHeader extends FileHeader {
  readonly format: number;
}

const magics = { log: "PHSTLOG\n", checkpoint: "PHSTCKP\n" } as const;

export function encodeFileHeader(header: FileHeader): Uint8Array {
  const bytes = new Uint8Array(fileHeaderBytes);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < 8; i++) bytes[i] = magics[header.kind].charCodeAt(i);
  view.setUint32(8, formatVersion, true);
  view.setUint32(12, header.epoch, true);
  bytes.set(uuidBytes(header.storeId), 16);
  view.setBigUint64(32, BigInt(header.number), true);
  view.setBigUint64(40, BigInt(header.revision), true);
  view.setBigUint64(48, BigInt(header.previousEnd), true);
  view.setUint32(headerCrcAt, crc32c(bytes, 0, headerCrcAt), true);
  return bytes;
}

/** Undefined when there is no whole header: not written, torn, or damaged. */
export function decodeFileHeader(bytes: Uint8Array): FoundHeader | undefined {
  if (bytes.length < fileHeaderBytes) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(headerCrcAt, true) !== crc32c(bytes, 0, headerCrcAt)) return undefined;
  const magic = String.fromCharCode(...bytes.subarray(0, 8));
  const kind =
    magic === magics.log ? "log" : magic === magics.checkpoint ? "checkpoint" : undefined;
  if (kind === undefined) return undefined;
  return {
    kind,
    format: view.getUint32(8, true),
    epoch: view.getUint32(12, true),
    storeId: uuidText(bytes.subarray(16, 32)),
    number: Number(view.getBigUint64(32, true)),
    revision: Number(view.getBigUint64(40, true)),
    previousEnd: Number(view.getBigUint64(48, true)),
  };
}

export function encodeFormat(storeId: string): Uint8Array {
  const text = `pilothouse-store format ${formatVersion}\nid ${storeId}\n`;
  return new TextEncoder().encode(text);
}

/** Reads the first line before the rest, because the rest may belong to another format. */
export function decodeFormat(
  text: string,
  path: string,
): { readonly storeId: string; readonly format: number } {
  const match = /^pilothouse-store format (\d+)\n(?:id ([0-9a-f-]{36})\n$)?/.exec(text);
  const format = Number(match?.[1]);
  const unread = match === null ? undefined : unreadFormat(format);
  if (unread !== undefined) throw new CorruptionError(`${path}: store ${unread}`);
  const storeId = match?.[2];
  if (storeId === undefined) {
    throw new CorruptionError(`${path}: not a format file of a store: restore it from a backup`);
  }
  return { storeId, format };
}

/** The error text for a format that this version cannot read; undefined: it can. */
export function unreadFormat(format: number): string | undefined {
  if (format >= formatOldest && format <= formatVersion) return undefined;
  return `has format ${format}, this version reads formats ${formatOldest} to ${formatVersion}: use the version that wrote it`;
}

function uuidBytes(id: string): Uint8Array {
  const hex = id.replaceAll("-", "");
  return Uint8Array.from({ length: 16 }, (_, i) =>
    Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16),
  );
}

function uuidText(bytes: Uint8Array): string {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const cuts = [0, 8, 12, 16, 20, 32];
  return cuts
    .slice(1)
    .map((end, i) => hex.slice(cuts[i], end))
    .join("-");
}
