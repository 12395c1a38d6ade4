/**
 * Whose turn it is on an HTTP/1.1 connection that node:http parses: requests are handled one by one, and
 * of a socket with more than `pipelinedMax` unanswered ones nothing more is read.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Number of unanswered requests after which reading stops. One read, of 64 KB at most, may hold more of them. */
const pipelinedMax = 16;

export interface Exchange {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
}

interface Turns {
  /** Number of requests whose answers have not been sent. */
  unanswered: number;
  /** The request that came last. */
  last: Exchange;
  /** Called once when all answers have been sent. */
  answered: (() => void) | undefined;
}

const turns = new WeakMap<Socket, Turns>();

export function isAnswering(socket: Socket): boolean {
  return (turns.get(socket)?.unanswered ?? 0) > 0;
}

/** Returns the last request, if answers are outstanding. */
export function lastUnanswered(socket: Socket): Exchange | undefined {
  return isAnswering(socket) ? turns.get(socket)?.last : undefined;
}

/** Marks the connection as answering until the answer has been sent. */
export function takeTurn(exchange: Exchange): void {
  const { socket } = exchange.message;
  const known = turns.get(socket) ?? { unanswered: 0, last: exchange, answered: undefined };
  known.unanswered++;
  known.last = exchange;
  turns.set(socket, known);
  exchange.response.once("close", () => endTurn(socket, known));
  if (known.unanswered === pipelinedMax + 1) holdReading(socket);
}

/** Calls `done` when all answers have been sent; nothing more is read until then. */
export function whenAnswered(socket: Socket, done: () => void): void {
  const known = turns.get(socket);
  if (known === undefined || known.unanswered === 0) return done();
  holdReading(socket);
  known.answered = () => {
    readOn(socket);
    done();
  };
}

function endTurn(socket: Socket, known: Turns): void {
  known.unanswered--;
  if (known.unanswered === pipelinedMax && known.answered === undefined) readOn(socket);
  if (known.unanswered > 0) return;
  const { answered } = known;
  known.answered = undefined;
  answered?.();
}

function holdReading(socket: Socket): void {
  socket.off("resume", holdBack).on("resume", holdBack).pause();
}

function readOn(socket: Socket): void {
  socket.off("resume", holdBack).resume();
}

/** Pauses the socket again: node:http resumes reading after each answer. */
function holdBack(this: Socket): void {
  this.pause();
}
