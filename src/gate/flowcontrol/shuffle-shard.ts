/**
 * Shuffle sharding: assigns a hand of distinct queues to a flow, so that two flows rarely have the same hand.
 *
 * In     64 bits of hash as two 32-bit halves. Out: `handSize` distinct numbers below `deckSize`.
 * How    the hash is divided by the size of a deck that shrinks by one card each time. Each remainder is a position
 *        among the remaining cards (apiserver pkg/util/shufflesharding).
 * Bounds deckSize <= 2^20, so that every step is exact in a double.
 */
import { assert } from "#base/assert.ts";

export interface Hash64 {
  readonly high: number;
  readonly low: number;
}

const deckMax = 2 ** 20;

/** Returns two independent 32-bit hashes of one text, each with murmur's finisher. Not suitable for secrets. */
export function hashFlow(schema: string, distinguisher: string): Hash64 {
  const text = `${schema}\0${distinguisher}`;
  let high = 0x9747_b28c;
  let low = 0x3c6e_f372;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    high = Math.imul(high ^ code, 0x85eb_ca6b);
    low = Math.imul(low ^ code, 0xc2b2_ae35);
    high = (high << 13) | (high >>> 19);
    low = (low << 17) | (low >>> 15);
  }
  return { high: finish(high ^ text.length), low: finish(low ^ text.length) };
}

function finish(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export function dealHand(hash: Hash64, deckSize: number, handSize: number): readonly number[] {
  assert(handSize >= 1 && handSize <= deckSize && deckSize <= deckMax, "a hand fits its deck", {
    deckSize,
    handSize,
  });
  const remainders: number[] = [];
  let { high, low } = hash;
  for (let card = 0; card < handSize; card++) {
    const divisor = deckSize - card;
    const carry = (high % divisor) * 2 ** 32 + low;
    high = Math.floor(high / divisor);
    low = Math.floor(carry / divisor);
    remainders.push(carry % divisor);
  }
  return remainders.map((remainder, index) => position(remainder, remainders, index));
}

/**
 * Returns the card at the remainder's position among the cards still in the deck. Each card dealt before, unless it
 * is higher, shifts it by one.
 */
function position(remainder: number, remainders: readonly number[], index: number): number {
  let card = remainder;
  for (let before = index - 1; before >= 0; before--) {
    if (card >= (remainders[before] ?? 0)) card += 1;
  }
  return card;
}
