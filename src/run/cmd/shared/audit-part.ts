/** The audit log as a part of a role: opened at its start, opened again after SIGHUP, closed at its end. */
import { type AuditFile, openAuditFile } from "./audit-file.ts";
import type { Host } from "./host.ts";
import type { Parts } from "./parts.ts";

/** Opened first: a path that cannot be written must not cost a started plane. Undefined: none was asked for. */
export async function openAudit(
  host: Pick<Host, "clock" | "log">,
  { auditLog }: { readonly auditLog?: string },
  parts: Parts,
): Promise<AuditFile | undefined> {
  if (auditLog === undefined) return undefined;
  const audit = await parts.open("audit", () => openAuditFile(host, auditLog), {
    close: (file) => file.close(),
  });
  const reopen = (): void => audit.reopen();
  await parts.open("audit-rotation", () => process.on("SIGHUP", reopen), {
    close: () => process.off("SIGHUP", reopen),
  });
  return audit;
}
