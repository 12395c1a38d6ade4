/** Randomness as an argument, so that a seed decides a simulated run. */
export interface Random {
  /** `count` bytes, given to the caller. In production from the host's CSPRNG. */
  bytes(count: number): Uint8Array;
  /** Uniform integer in [0, bound). `bound` in 1..2^32. */
  below(bound: number): number;
  /** RFC 4122 version 4, lower case. */
  uuid(): string;
}
