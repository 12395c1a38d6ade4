/** The end of an audit log file as counts of calls: the file is streamed, so its size costs time and no memory. */
import { open } from "node:fs/promises";
import { AuditCounter } from "#doctor/audit.ts";
import type { Audit } from "#doctor/evidence.ts";

const bytesMax = 256 * 2 ** 20;
/** What has no end of line by then is no log: its bytes are dropped, and counted as one line. */
const lineBytesMax = 4 * 2 ** 20;

export async function readAuditFile(path: string): Promise<Audit> {
  const file = await open(path);
  const counter = new AuditCounter();
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - bytesMax);
    let rest = "";
    // A file that is read from its middle begins with a part of a line.
    let isPart = start > 0;
    for await (const chunk of file.createReadStream({
      start,
      encoding: "utf8",
      autoClose: false,
    })) {
      const lines = (rest + String(chunk)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of isPart ? lines.slice(1) : lines) counter.add(line);
      if (lines.length > 0) isPart = false;
      if (rest.length > lineBytesMax) {
        counter.add("too long");
        rest = "";
        isPart = true;
      }
    }
    // What has no end yet is being written.
    return counter.result();
  } finally {
    await file.close();
  }
}
