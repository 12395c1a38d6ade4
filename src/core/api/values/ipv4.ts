/** IPv4 addresses as numbers below 2^32. */

/** Undefined unless the text is dotted decimal. As in Go, octets with leading zeros are refused. */
export function parseIpv4(text: string): number | undefined {
  const octets = text.split(".");
  if (octets.length !== 4) return undefined;
  let address = 0;
  for (const octet of octets) {
    if (!/^(0|[1-9]\d{0,2})$/.test(octet) || Number(octet) > 255) return undefined;
    address = address * 256 + Number(octet);
  }
  return address;
}

export function ipv4Text(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
}
