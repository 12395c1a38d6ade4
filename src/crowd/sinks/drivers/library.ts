/** Loads the library of a sink: an optional dependency that only this kind of sink needs. */
import { SinkConfigError } from "../sink-driver.ts";

/** Rejects with SinkConfigError when the library is not installed. */
export async function loadLibrary<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new SinkConfigError(
      `this sink needs ${name}, which is not installed: npm install ${name}`,
    );
  }
}
