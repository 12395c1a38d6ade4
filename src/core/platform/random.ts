/** Randomness passed as an argument, so that a seed determines a simulated run. */
export interface Random {
  /** Returns `count` new bytes that the caller owns. In production they come from the host's CSPRNG. */
  bytes(count: number): Uint8Array;
  /** Returns a uniform integer in [0, bound). `bound` in 1..2^32. */
  below(bound: number): number;
  /** Returns an RFC 4122 version 4 UUID in lower case. */
  uuid(): string;
}
