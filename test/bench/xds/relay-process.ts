/** A relay in a process of its own, with its objects; the benchmark tells it what changes. */
import { XdsObjects, XdsRelay } from "../../process/xds-relay.ts";

export const hotService = "hot";

/** Port 80 of a service in namespace `n`. */
export function nameOf(service: string): string {
  return `${service}.n.svc.cluster.local:80`;
}

/** What the parent sends. */
export type Command =
  | { readonly kind: "start"; readonly services: number }
  /** The endpoints of each are the address of its number. */
  | { readonly kind: "change"; readonly changes: readonly (readonly [string, number])[] }
  | { readonly kind: "figures" };

export interface Figures {
  readonly cpuMs: number;
  readonly residentMb: number;
  readonly streams: number;
  readonly names: number;
}

/** An address that says which change it is of. */
export function addressOf(change: number): string {
  return `10.${(change >> 16) & 255}.${(change >> 8) & 255}.${change & 255}`;
}

const objects = new XdsObjects();
let relay: XdsRelay | undefined;

function change(changes: readonly (readonly [string, number])[]): void {
  for (const [service, i] of changes) {
    const all = [addressOf(i), "10.255.0.1", "10.255.0.2"].map((address) => ({ address }));
    objects.endpoints("n", service, 8080, all);
  }
}

function figures(): Figures {
  const { user, system } = process.cpuUsage();
  const { streams, names } = (relay?.face.status() ?? {}) as { streams: number; names: number };
  const residentMb = process.memoryUsage.rss() / 2 ** 20;
  return { cpuMs: (user + system) / 1000, residentMb, streams, names };
}

async function obey(command: Command): Promise<unknown> {
  switch (command.kind) {
    case "start":
      for (let i = 0; i < command.services; i++) {
        objects.service("n", `s${i}`);
        change([[`s${i}`, 0]]);
      }
      objects.service("n", hotService);
      change([[hotService, 0]]);
      // The state is there before the relay is: one list.
      relay = await XdsRelay.start(objects);
      return relay.port;
    case "change":
      change(command.changes);
      return undefined;
    case "figures":
      return figures();
    default:
      return command satisfies never;
  }
}

if (process.send !== undefined) {
  setInterval(() => {}, 60_000);
  process.on("message", (command: Command) => {
    void obey(command).then((answer) => process.send?.({ answer }));
  });
}
