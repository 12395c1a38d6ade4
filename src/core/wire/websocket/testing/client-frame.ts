/** Frames of a WebSocket client, for tests. */

/** Masked with a fixed key. */
export function clientFrame(
  opcode: number,
  payload: Uint8Array,
  { isFinal = true }: { readonly isFinal?: boolean } = {},
): Uint8Array {
  const mask = [0x11, 0x22, 0x33, 0x44];
  const length =
    payload.length < 126
      ? [0x80 | payload.length]
      : payload.length < 65_536
        ? [0x80 | 126, payload.length >> 8, payload.length & 0xff]
        : [0x80 | 127, 0, 0, 0, 0, ...word(payload.length)];
  const masked = payload.map((byte, index) => byte ^ (mask[index & 3] ?? 0));
  return Buffer.concat([
    Uint8Array.from([(isFinal ? 0x80 : 0) | opcode, ...length, ...mask]),
    masked,
  ]);
}

function word(value: number): readonly number[] {
  return [value >>> 24, (value >> 16) & 0xff, (value >> 8) & 0xff, value & 0xff];
}
