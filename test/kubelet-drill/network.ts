/** The nodes' network: a bridge that only this machine is on, and a namespace with one leg on it per node. */
import { spawnSync } from "node:child_process";
import { must } from "./shell.ts";

export const bridge = "phdrill0";
export const gateway = "172.30.77.1";

export interface NodePlace {
  readonly name: string;
  readonly namespace: string;
  /** The bridge's end of the node's cable. */
  readonly cable: string;
  readonly address: string;
  readonly podRange: string;
}

export const places: readonly NodePlace[] = [1, 2].map((number) => ({
  name: `drill-${number}`,
  namespace: `phdrill-${number}`,
  cable: `phdrill-v${number}`,
  address: `172.30.77.1${number}`,
  podRange: `10.244.${70 + number}.0/24`,
}));

function ip(...args: string[]): Promise<string> {
  return must("ip", args);
}

export async function openNetwork(): Promise<void> {
  closeNetwork();
  await ip("link", "add", bridge, "type", "bridge");
  await ip("addr", "add", `${gateway}/24`, "dev", bridge);
  await ip("link", "set", bridge, "up");
  for (const place of places) await openPlace(place);
  for (const place of places) {
    for (const other of places.filter((one) => one !== place)) {
      const way = ["route", "add", other.podRange, "via", other.address];
      await ip("-n", place.namespace, ...way);
    }
  }
}

async function openPlace({ namespace, cable, address, podRange }: NodePlace): Promise<void> {
  const inside = (...args: string[]): Promise<string> => ip("-n", namespace, ...args);
  await ip("netns", "add", namespace);
  await ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", namespace);
  await ip("link", "set", cable, "master", bridge, "up");
  await inside("link", "set", "lo", "up");
  await inside("link", "set", "eth0", "up");
  await inside("addr", "add", `${address}/24`, "dev", "eth0");
  await inside("route", "add", "default", "via", gateway);
  await ip("route", "replace", podRange, "via", address);
}

/** Pulls the node's cable, and with "up" plugs it in again. */
export async function setCable({ cable }: NodePlace, state: "up" | "down"): Promise<void> {
  await ip("link", "set", cable, state);
}

/** Also after a drill that was killed; what is not there is no matter. Without waiting: the last thing a drill does. */
export function closeNetwork(): void {
  const drop = (...args: readonly string[]): void => {
    spawnSync("ip", args, { stdio: "ignore" });
  };
  for (const { namespace, cable, podRange } of places) {
    drop("route", "del", podRange);
    drop("link", "del", cable);
    drop("netns", "del", namespace);
  }
  drop("link", "del", bridge);
}

/** What is there of it now. */
export async function networkLeft(): Promise<readonly string[]> {
  const links = await must("ip", ["-o", "link"]);
  const namespaces = await must("ip", ["netns"]);
  const names = [bridge, ...places.flatMap((place) => [place.cable, place.namespace])];
  return names.filter((name) => `${links}\n${namespaces}`.includes(name));
}
