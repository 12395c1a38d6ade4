/** Counts the calls at the end of an audit log file. The file is streamed, so its size costs time and no memory. */
import { open } from "node:fs/promises";
import { AuditCounter } from "#doctor/audit.ts";
import type { Audit } from "#doctor/evidence.ts";

const bytesMax = 256 * 2 ** 20;
/** Maximum length of a line. A longer line is no log entry: its bytes are dropped, and it is counted as one line. */
const lineBytesMax = 4 * 2 ** 20;

export async function readAuditFile(path: string): Promise<Audit> {
  const file = await open(path);
  const counter = new AuditCounter();
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - bytesMax);
    let rest = "";
    // Whether the next line is incomplete: a read from the middle of the file begins within a line.
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
    // A last line without a line end is still being written, so it is not counted.
    return counter.result();
  } finally {
    await file.close();
  }
}
