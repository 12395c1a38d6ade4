/**
 * Limits connections in total and per address, so that one peer cannot
 * take them all. The gate also keeps connections that are not served yet, to close them with the server.
 */
import { isIPv6, type Socket } from "node:net";
import type { Clock } from "#platform/clock.ts";
import type { Log } from "#platform/log.ts";

export interface GateLimits {
  /** Further connections are closed immediately. */
  readonly connectionsMax: number;
  /** The same limit per IPv4 address or per IPv6 network of 64 bits. */
  readonly connectionsPerAddressMax: number;
}

const tellEveryMs = 1000;

export class ConnectionGate {
  readonly #deps: { readonly clock: Clock; readonly log: Log };
  readonly #limits: GateLimits;
  #count = 0;
  readonly #perNetwork = new Map<string, number>();
  /** By the peer's address and port, because TLS wraps the accepted socket in another object. */
  readonly #unserved = new Map<string, Socket>();
  #quietUntilMs = 0;

  constructor(deps: { readonly clock: Clock; readonly log: Log }, limits: GateLimits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  /** Destroys the socket when a limit is exceeded. */
  admit(socket: Socket): void {
    const network = networkOf(socket.remoteAddress);
    const ofNetwork = this.#perNetwork.get(network) ?? 0;
    const { connectionsMax, connectionsPerAddressMax } = this.#limits;
    if (this.#count >= connectionsMax || ofNetwork >= connectionsPerAddressMax) {
      socket.destroy();
      return this.#tell(network, ofNetwork);
    }
    const peer = peerOf(socket);
    this.#count++;
    this.#perNetwork.set(network, ofNetwork + 1);
    this.#unserved.set(peer, socket);
    socket.once("close", () => {
      this.#count--;
      this.#unserved.delete(peer);
      const left = (this.#perNetwork.get(network) ?? 1) - 1;
      if (left === 0) this.#perNetwork.delete(network);
      else this.#perNetwork.set(network, left);
    });
  }

  /** From now on another component closes the socket. */
  served(socket: Socket): void {
    this.#unserved.delete(peerOf(socket));
  }

  close(): void {
    for (const socket of this.#unserved.values()) socket.destroy();
  }

  #tell(peer: string, ofNetwork: number): void {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs < this.#quietUntilMs) return;
    this.#quietUntilMs = nowMs + tellEveryMs;
    const counts = { peer, connections: this.#count, ofThatPeer: ofNetwork };
    this.#deps.log.warn("a connection was refused: there are too many", counts);
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** An IPv4 address in its canonical form; for IPv6, the 64-bit network that one machine may have. */
function networkOf(address: string | undefined): string {
  if (address === undefined || !isIPv6(address)) return address ?? "";
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped !== null) return mapped[1] as string;
  const [front = "", back = ""] = address.split("::");
  const fronts = front === "" ? [] : front.split(":");
  if (!address.includes("::")) return fronts.slice(0, 4).join(":");
  const backs = back === "" ? [] : back.split(":");
  const zeros = Array.from({ length: 8 - fronts.length - backs.length }, () => "0");
  return [...fronts, ...zeros, ...backs].slice(0, 4).join(":");
}
