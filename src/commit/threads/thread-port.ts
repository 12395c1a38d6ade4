/** One end of a channel between two threads. */
export interface ThreadPort<Sent, Received> {
  /** Sends a message. `transfer`: memory that is passed on with the message, so that the sender loses it. */
  post(message: Sent, transfer?: readonly ArrayBuffer[]): void;
  /** Returns the next message that has arrived, without a turn of the loop; undefined: no message has arrived. */
  take(): Received | undefined;
  /** From now on passes messages that `take` did not return to `receive`, in order. Called once. */
  listen(receive: (message: Received) => void): void;
  close(): void;
}
