/** A small file that is always the old one or the new one, readable by its owner alone. */
import { open, rename } from "node:fs/promises";

/** Durable when it resolves. One at a time for each path. */
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
