/**
 * Where this process listens, as others reach it: no request that objects lead somewhere may come back here, where
 * the credentials that go with it are known.
 *
 * Holds  every address of this machine counts at a port of ours, whichever of them a listener is bound to, in any
 *        spelling: IPv4 in IPv6, a zone, "0.0.0.0", which connects to loopback.
 * Not    balancers and other machines in front of this one: nothing here knows of them.
 */
import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";

interface Route {
  readonly addresses: BlockList;
  readonly port: number;
}

export class OwnAddresses {
  readonly #interfaces: () => readonly string[];
  readonly #ports = new Set<number>();
  readonly #routes: Route[] = [];

  constructor(interfaces: () => readonly string[] = interfaceAddresses) {
    this.#interfaces = interfaces;
  }

  /** Adds a port at every address of this machine. */
  addPort(port: number): void {
    this.#ports.add(port);
  }

  /** Adds an address and port that route to this server, such as an advertised address or a Service's. */
  addRoute(address: string, port: number): void {
    if (isIP(address) !== 0) this.#routes.push({ addresses: listOf([address]), port });
  }

  has(address: string, port: number): boolean {
    const bare = withoutZone(address);
    if (this.#ports.has(port) && isIn(machineList(this.#interfaces()), bare)) return true;
    return this.#routes.some((route) => route.port === port && isIn(route.addresses, bare));
  }
}

/** Adds loopback and the unspecified addresses, which reach the machine too. */
function machineList(addresses: readonly string[]): BlockList {
  const list = listOf([...addresses, "0.0.0.0", "::", "::1"]);
  list.addSubnet("127.0.0.0", 8);
  return list;
}

function listOf(addresses: readonly string[]): BlockList {
  const list = new BlockList();
  for (const address of addresses) list.addAddress(withoutZone(address), familyOf(address));
  return list;
}

/** IPv4 rules match IPv4-mapped IPv6 addresses too. */
function isIn(list: BlockList, address: string): boolean {
  return isIP(address) !== 0 && list.check(address, familyOf(address));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return address.includes(":") ? "ipv6" : "ipv4";
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/s, "");
}

/** Read at each call, because a machine can get new addresses at any time. */
function interfaceAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? []).map(({ address }) => address),
  );
}
