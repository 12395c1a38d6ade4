/** The file of `--devices`, which defines the devices of hollow nodes. */
import type { HollowDevices } from "#hollow/devices.ts";
import { parseDeviceFile } from "./device-document.ts";
import { readOperatorFile } from "./operator-file.ts";
import { UsageError } from "./usage-error.ts";

/** Reads the devices. Undefined: no file is named. Throws UsageError. */
export function devicesOf(path: string | undefined): HollowDevices | undefined {
  if (path === undefined) return undefined;
  const { devices, problems } = parseDeviceFile(readOperatorFile(path));
  if (problems.length > 0) throw new UsageError(`${path}: ${problems.join("\n")}`);
  return devices;
}
