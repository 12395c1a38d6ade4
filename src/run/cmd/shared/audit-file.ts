/** `--audit-log`: one JSON line per request, appended to a file that may be rotated, removed or full. */
import { ownEntry } from "#base/own.ts";
import { DiskError } from "#platform/disk.ts";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";
import type { LineWriter } from "#platform/node/line-buffer.ts";
import { type LineFile, openLineFile } from "#platform/node/line-file.ts";
import { type AuditLine, type AuditSink, isStranger } from "#server/audit.ts";
import { auditText } from "#server/audit-text.ts";
import { auditBufferBytesMax } from "./limits.ts";
import { UsageError } from "./usage-error.ts";

export interface AuditFile extends AuditSink {
  /** After a rotation: opens the path again. */
  reopen(): void;
  close(): Promise<void>;
}

/** @throws UsageError when the file cannot be written. */
export async function openAuditFile(
  deps: { readonly clock: Clock; readonly log: Log },
  path: string,
  bufferBytesMax = auditBufferBytesMax,
): Promise<AuditFile> {
  const file = await openOrRefuse(deps.clock, path, bufferBytesMax);
  let failing = false;
  /** Said once when it begins and once when it ends. */
  const tell = (): void => {
    const { problem, droppedCount } = file;
    if ((problem !== undefined) === failing) return;
    failing = !failing;
    if (failing) deps.log.error("audit log cannot be written", { path, error: problem });
    else deps.log.warn("audit log is written again", { path, droppedCount });
  };
  return {
    write(line, lost) {
      const kept = file.append(auditText(line), writerOf(line), (of) =>
        lost(of.isStranger ? "anonymous" : "named"),
      );
      tell();
      return kept;
    },
    problem() {
      tell();
      return file.problem;
    },
    reopen: () => file.reopen(),
    close: () => file.close(),
  };
}

/** A request without credentials is its address's. */
function writerOf(line: AuditLine): LineWriter {
  if (isStranger(line)) return { name: line.sourceAddress, isStranger: true };
  return { name: (line.impersonator ?? line.user)?.name ?? "", isStranger: false };
}

async function openOrRefuse(clock: Clock, path: string, bufferBytesMax: number): Promise<LineFile> {
  try {
    const timer = "server.audit";
    return await openLineFile(clock, { path, mode: 0o600, bufferBytesMax, timer });
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    const why = ownEntry(whyNot, error.code) ?? error.message;
    throw new UsageError(
      `cannot write the audit log ${path}: ${why}; give another file with --audit-log`,
      { cause: error },
    );
  }
}

const whyNot: Readonly<Record<string, string>> = {
  ENOENT: "its folder is not there",
  ENOTDIR: "its folder is not a folder",
  EISDIR: "it is a folder",
  EACCES: "permission denied",
  EROFS: "read-only file system",
  ENOSPC: "no space left",
};
