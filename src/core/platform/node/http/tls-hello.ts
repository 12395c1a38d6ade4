/**
 * A TLS connection's first bytes are looked at before node:tls has them: plain HTTP is answered with what it is, as Go's
 * server does, and a client that says nothing is cut. node:tls documents how it takes a socket that was read from before
 * (`server.emit("connection")`).
 */
import { Socket } from "node:net";

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
    secure(socket);
  };
  socket.on("readable", begin).on("close", begin);
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
