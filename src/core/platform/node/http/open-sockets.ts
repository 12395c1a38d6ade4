/**
 * The open connections of one listener, each counted into those of the process, and what the host keeps for it
 * charged to its address until its user is known.
 *
 * A TLS socket wraps the one that came: its account is found by the peer that both have.
 */
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { ConnectionAccount } from "../../connection-budget.ts";
import type { Holding } from "../../ledger.ts";
import type { Log } from "../../log.ts";
import { countSocket } from "../process-connections.ts";

/** User of a connection whose client certificate is good, until its first request names one. */
const certified = "";

/** Opens the account that a connection is charged to; see `Ledger.open`. */
type OpenHolding = (caller: string) => Holding;

/** Memory of a connection with TLS. Measured beside 600 idle ones: 50 KB with HTTP/1.1, 32 with HTTP/2. */
const secureBytes = 48 * 1024;
const clearBytes = 8 * 1024;

interface SocketsOptions {
  readonly isSecure: boolean;
  /** Absent: connections are not charged. */
  readonly hold?: OpenHolding | undefined;
}

interface Open {
  readonly account: ConnectionAccount;
  readonly peer: string;
}

export class OpenSockets {
  readonly #log: Log;
  readonly #bytes: number;
  readonly #hold: OpenHolding | undefined;
  readonly #open = new Map<Socket, Open>();
  readonly #byPeer = new Map<string, ConnectionAccount>();
  /** One function for all sockets instead of a closure each, so that an idle socket takes as little memory as possible. */
  readonly #gone: (this: Socket) => void;

  constructor(log: Log, { isSecure, hold }: SocketsOptions) {
    this.#log = log;
    this.#bytes = isSecure ? secureBytes : clearBytes;
    this.#hold = hold;
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
    const account = this.#charged(countSocket(socket, this.#log), socket);
    this.#open.set(socket, { account, peer });
    this.#byPeer.set(peer, account);
    socket.on("error", destroySocket).on("close", this.#gone);
  }

  #charged(account: ConnectionAccount, { remoteAddress = "" }: Socket): ConnectionAccount {
    if (this.#hold === undefined) return account;
    return new ChargedConnection(account, this.#hold, this.#bytes, `address:${remoteAddress}`);
  }

  /** Returns the account of an accepted socket, or of the TLS socket around it; undefined when it is closed. */
  accountOf(socket: Socket): ConnectionAccount | undefined {
    return this.#open.get(socket)?.account ?? this.#byPeer.get(peerKey(socket));
  }

  /** Notes the client certificate. Call it when the handshake is over. */
  noteCertificate(socket: TLSSocket): void {
    if (socket.authorized) this.accountOf(socket)?.belongsTo(certified);
  }

  destroyAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }
}

/** Holds  the connection's memory is charged to one caller at a time, and to none once the connection has closed. */
class ChargedConnection implements ConnectionAccount {
  readonly #account: ConnectionAccount;
  readonly #hold: OpenHolding;
  readonly #bytes: number;
  #charged: string;
  #holding: Holding;
  #hasLeft = false;

  constructor(account: ConnectionAccount, hold: OpenHolding, bytes: number, caller: string) {
    this.#account = account;
    this.#hold = hold;
    this.#bytes = bytes;
    this.#charged = caller;
    this.#holding = hold(caller);
    this.#holding.force("connection", bytes);
  }

  get caller(): string | undefined {
    return this.#account.caller;
  }

  set caller(name: string | undefined) {
    this.#account.caller = name;
  }

  belongsTo(user: string): void {
    this.#account.belongsTo(user);
    const caller = `user:${user}`;
    if (this.#hasLeft || user === certified || caller === this.#charged) return;
    this.#holding.close();
    this.#charged = caller;
    this.#holding = this.#hold(caller);
    this.#holding.force("connection", this.#bytes);
  }

  leave(): void {
    this.#hasLeft = true;
    this.#account.leave();
    this.#holding.close();
  }
}

function peerKey({ remoteAddress = "", remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function destroySocket(this: Socket): void {
  this.destroy();
}
