/**
 * A TLS connection's first bytes are looked at before node:tls has them: plain HTTP is answered with what it is, as Go's
 * server does, and a client that says nothing is cut. node:tls documents how it takes a socket that was read from before
 * (`server.emit("connection")`).
 */
import { Socket } from "node:net";

/** Methods with which plain HTTP begins; TLS begins with the byte 22. */
const plainHttp = /^(?:GET \/|HEAD |POST |PUT \/|PATCH|DELET|OPTIO|CONNE)/;
const plainHttpBytes = 5;
/** Answer of Go's server to plain HTTP, hence of a stock API server. */
const notTls = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
/** Delay before the close, because the client may still be sending. */
const lingerMs = 500;

/** Calls `secure` when the first bytes have arrived; cuts a client that sends none within `helloMs`. */
export function awaitHello(
  socket: Socket,
  helloMs: number,
  secure: (socket: Socket) => void,
): void {
  // A timer instead of the socket's own timeout, which would stay set on the socket.
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

/** Returns the first bytes and leaves them to be read; fewer when fewer have arrived. */
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
