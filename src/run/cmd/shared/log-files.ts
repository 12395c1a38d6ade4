/** Logs of hollow pods, from files that the operator names in kwok's Logs and ClusterLogs. */
import { constants, open } from "node:fs/promises";
import { failure } from "#api/status.ts";
import type { LogRule } from "./pod-rules.ts";

/** Maximum bytes of a log. Only the end of a longer file is read. */
const bytesMax = 4 * 1024 * 1024;

/** Returns the path of a container's log. Undefined: no rule names a file. */
export function logFile(
  rules: readonly LogRule[],
  of: { readonly namespace: string; readonly pod: string; readonly container: string },
  query: URLSearchParams,
): string | undefined {
  const fits = (list: readonly string[], text: string): boolean =>
    list.length === 0 || list.includes(text);
  const rule = rules.find(
    ({ namespaces, names, containers }) =>
      fits(namespaces, of.namespace) && fits(names, of.pod) && fits(containers, of.container),
  );
  const file = query.get("previous") === "true" ? rule?.previousFile : rule?.file;
  return file === "" ? undefined : file;
}

/** Supports `tailLines` and `limitBytes`. Ignores `follow`: the present content is the whole log. */
export async function logText(path: string, query: URLSearchParams): Promise<string> {
  const text = await endOf(path);
  const tail = Number(query.get("tailLines") ?? Number.NaN);
  const lines = text.split(/(?<=\n)/);
  const kept = tail >= 0 ? lines.slice(Math.max(0, lines.length - tail)).join("") : text;
  const limit = Number(query.get("limitBytes") ?? Number.NaN);
  return limit >= 0 ? Buffer.from(kept).subarray(0, limit).toString() : kept;
}

async function endOf(path: string): Promise<string> {
  try {
    // Without O_NONBLOCK, a pipe would wait for its writer and block a thread that the store's files need.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = await file.stat();
    if (!stat.isFile()) throw new Error("it is no file");
    const { size } = stat;
    const bytes = Buffer.alloc(Math.min(size, bytesMax));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, Math.max(0, size - bytes.length));
    return bytes.toString("utf8", 0, bytesRead);
  } catch (error) {
    throw failure(500, "InternalError", `the log cannot be read: ${(error as Error).message}`);
  }
}
