/** Usages of a certificate by their names in certificates.k8s.io, as X.509 bits and OIDs. */

/** By name: bit of KeyUsage, counted from the most significant (RFC 5280 4.2.1.3). */
const bitOf: ReadonlyMap<string, number> = new Map([
  ["signing", 0],
  ["digital signature", 0],
  ["content commitment", 1],
  ["key encipherment", 2],
  ["data encipherment", 3],
  ["key agreement", 4],
  ["cert sign", 5],
  ["crl sign", 6],
  ["encipher only", 7],
  ["decipher only", 8],
]);

/** Extended usages, in the order in which upstream writes them. */
const extendedUsages: readonly (readonly [oid: string, ...names: readonly string[]])[] = [
  ["2.5.29.37.0", "any"],
  ["1.3.6.1.5.5.7.3.1", "server auth"],
  ["1.3.6.1.5.5.7.3.2", "client auth"],
  ["1.3.6.1.5.5.7.3.3", "code signing"],
  ["1.3.6.1.5.5.7.3.4", "email protection", "s/mime"],
  ["1.3.6.1.5.5.7.3.5", "ipsec end system"],
  ["1.3.6.1.5.5.7.3.6", "ipsec tunnel"],
  ["1.3.6.1.5.5.7.3.7", "ipsec user"],
  ["1.3.6.1.5.5.7.3.8", "timestamping"],
  ["1.3.6.1.5.5.7.3.9", "ocsp signing"],
  ["1.3.6.1.4.1.311.10.3.3", "microsoft sgc"],
  ["2.16.840.1.113730.4.1", "netscape sgc"],
];

/** Returns one octet, or two if a bit of the second octet is set. */
export function usageBits(usages: readonly string[]): Uint8Array {
  const octets = new Uint8Array(2);
  for (const usage of usages) {
    const bit = bitOf.get(usage);
    if (bit !== undefined) octets[bit >> 3] = (octets[bit >> 3] ?? 0) | (0x80 >> (bit & 7));
  }
  return octets[1] === 0 ? octets.subarray(0, 1) : octets;
}

export function extendedUsageOids(usages: readonly string[]): readonly string[] {
  return extendedUsages
    .filter(([, ...names]) => names.some((name) => usages.includes(name)))
    .map(([oid]) => oid);
}
