/**
 * Whose turn it is on an HTTP/1.1 connection that node:http parses: requests are handled one by one, and
 * of a socket with more than `pipelinedMax` unanswered ones nothing more is read.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Those of one read, of 64 KB at most, may be more. */
const pipelinedMax = 16;

export interface Exchange {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
}

interface Turns {
  /** Requests whose answers have not left. */
  unanswered: number;
  /** The request that came last. */
  last: Exchange;
  /** Called once when all answers have left. */
  answered: (() => void) | undefined;
}

const turns = new WeakMap<Socket, Turns>();

export function isAnswering(socket: Socket): boolean {
  return (turns.get(socket)?.unanswered ?? 0) > 0;
}

/** The last request, while answers are due. */
export function lastUnanswered(socket: Socket): Exchange | undefined {
  return isAnswering(socket) ? turns.get(socket)?.last : undefined;
}

/** Until its answer has left the connection is answering. */
export function takeTurn(exchange: Exchange): void {
  const { socket } = exchange.message;
  const known = turns.get(socket) ?? { unanswered: 0, last: exchange, answered: undefined };
  known.unanswered++;
  known.last = exchange;
  turns.set(socket, known);
  exchange.response.once("close", () => endTurn(socket, known));
  if (known.unanswered === pipelinedMax + 1) holdReading(socket);
}

/** Calls `done` when all answers have left; nothing more is read until then. */
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

/** node:http reads on after each answer. */
function holdBack(this: Socket): void {
  this.pause();
}
