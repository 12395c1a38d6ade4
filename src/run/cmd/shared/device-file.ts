/** The file of `--devices`, which says what devices hollow nodes have. */
import type { HollowDevices } from "#hollow/devices.ts";
import { parseDeviceFile } from "./device-document.ts";
import { readOperatorFile } from "./operator-file.ts";
import { UsageError } from "./usage-error.ts";

/** Undefined: no file was named. Throws UsageError. */
export function devicesOf(path: string | undefined): HollowDevices | undefined {
  if (path === undefined) return undefined;
  const { devices, problems } = parseDeviceFile(readOperatorFile(path));
  if (problems.length > 0) throw new UsageError(`${path}: ${problems.join("\n")}`);
  return devices;
}
