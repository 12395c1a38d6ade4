/**
 * The open connections of one listener, each counted into those of the process.
 *
 * A TLS socket wraps the one that came: its account is found by the peer that both have.
 */
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { ConnectionAccount } from "../../connection-budget.ts";
import type { Log } from "../../log.ts";
import { countSocket } from "../process-connections.ts";

/** Of a client whose certificate is good, until it asks for something. */
const certified = "";

interface Open {
  readonly account: ConnectionAccount;
  readonly peer: string;
}

export class OpenSockets {
  readonly #log: Log;
  readonly #open = new Map<Socket, Open>();
  readonly #byPeer = new Map<string, ConnectionAccount>();
  /** Not a closure of each socket: an idle one is as small as it can be. */
  readonly #gone: (this: Socket) => void;

  constructor(log: Log) {
    this.#log = log;
    const [open, byPeer] = [this.#open, this.#byPeer];
    this.#gone = function (this: Socket) {
      const one = open.get(this);
      if (one === undefined) return;
      open.delete(this);
      one.account.leave();
      if (byPeer.get(one.peer) === one.account) byPeer.delete(one.peer);
    };
  }

  add(socket: Socket): void {
    const peer = peerKey(socket);
    const account = countSocket(socket, this.#log);
    this.#open.set(socket, { account, peer });
    this.#byPeer.set(peer, account);
    socket.on("error", destroySocket).on("close", this.#gone);
  }

  /** Of a socket that came, or of the TLS socket around it; undefined when it is closed. */
  accountOf(socket: Socket): ConnectionAccount | undefined {
    return this.#open.get(socket)?.account ?? this.#byPeer.get(peerKey(socket));
  }

  /** Its handshake is over. */
  noteCertificate(socket: TLSSocket): void {
    if (socket.authorized) this.accountOf(socket)?.belongsTo(certified);
  }

  destroyAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }
}

function peerKey({ remoteAddress = "", remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function destroySocket(this: Socket): void {
  this.destroy();
}
