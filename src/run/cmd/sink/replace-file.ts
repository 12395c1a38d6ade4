/** Atomic replacement of a small file that only its owner can read. */
import { open, rename } from "node:fs/promises";

/** Replaces the file. It is durable when this resolves. Only one call at a time is allowed for each path. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`;
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}
