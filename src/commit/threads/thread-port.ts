/** One end of a channel between two threads, as this room sees it. */
export interface ThreadPort<Sent, Received> {
  /** `transfer`: memory that is given away with the message. */
  post(message: Sent, transfer?: readonly ArrayBuffer[]): void;
  /** The next message that is there already, without a turn of the loop; undefined: none is. */
  take(): Received | undefined;
  /** From now on `receive` gets what `take` did not, in order. Once. */
  listen(receive: (message: Received) => void): void;
  close(): void;
}
