/** The host's cryptographic randomness. */
import { randomBytes, randomInt, randomUUID } from "node:crypto";
import type { Random } from "../random.ts";

export class NodeRandom implements Random {
  bytes(count: number): Uint8Array {
    return randomBytes(count);
  }

  below(bound: number): number {
    return randomInt(bound);
  }

  uuid(): string {
    return randomUUID();
  }
}
