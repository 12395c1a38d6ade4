/** Reason why the server ends a stream; its transport has a code for each. */
type StreamEndReason = "invalid" | "limit" | "forbidden" | "behind";

export class StreamEndError extends Error {
  readonly reason: StreamEndReason;

  constructor(reason: StreamEndReason, message: string) {
    super(message);
    this.name = "StreamEndError";
    this.reason = reason;
  }
}
