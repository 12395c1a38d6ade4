/**
 * A TLS connection's first bytes are read here and given to node:tls in pieces.
 *
 * Why: Node reads what is encrypted into a buffer of as much as libuv offers, 64 KB, and keeps it as long
 * as the connection. A piece below 1 KB makes it keep 1 KB, and take more when more comes at once. The
 * idle connection of a client that only watches is 10 KB smaller (docs/adr/0013).
 *
 * This is what node:tls documents for sockets that were read from before (`server.emit("connection")`).
 * Pieces are all that is ours: a shared `read` that returns less at a time than there is.
 */
import { Socket } from "node:net";

/** Node's first buffer is 1,024 bytes, and it adds one of 16 KB when that is full. */
const pieceBytes = 1_000;

/** Methods as plain HTTP begins; TLS begins with a byte of 22. */
const plainHttp = /^(?:GET \/|HEAD |POST |PUT \/|PATCH|DELET|OPTIO|CONNE)/;
const plainHttpBytes = 5;
/** As Go's server answers it, a stock API server for one. */
const notTls = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
/** The client may still be sending. */
const lingerMs = 500;

/** Calls `secure` when the first bytes are there; a client that sends none in `helloMs` is cut. */
export function awaitHello(
  socket: Socket,
  helloMs: number,
  secure: (socket: Socket) => void,
): void {
  // Not the socket's own timeout, which it would keep.
  const late = setTimeout(() => socket.destroy(), helloMs).unref();
  const begin = (): void => {
    clearTimeout(late);
    socket.off("readable", begin).off("close", begin);
    if (socket.destroyed || socket.readableLength === 0) return void socket.destroy();
    if (plainHttp.test(firstBytes(socket))) return refusePlain(socket);
    socket.read = readPiece;
    secure(socket);
  };
  socket.on("readable", begin).on("close", begin);
}

function readPiece(this: Socket, size?: number): unknown {
  const ready = this.readableLength;
  const piece = size === undefined && ready > 0 ? Math.min(ready, pieceBytes) : size;
  return Socket.prototype.read.call(this, piece);
}

/** They stay to be read. Fewer when fewer came. */
function firstBytes(socket: Socket): string {
  const first = socket.read(Math.min(socket.readableLength, plainHttpBytes)) as Buffer | null;
  if (first === null) return "";
  socket.unshift(first);
  return first.toString("latin1");
}

function refusePlain(socket: Socket): void {
  socket.end(notTls);
  const late = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once("close", () => clearTimeout(late)).resume();
}
