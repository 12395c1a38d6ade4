/** kubernetes.net.ip and kubernetes.net.cidr: IPv4-mapped IPv6 addresses and zones are refused. */
import { goQuote } from "./go-quote.ts";
import {
  AddressError,
  equalAddresses,
  equalPrefixes,
  ipText,
  isGlobalUnicastAddress,
  isLinkLocalMulticastAddress,
  isLinkLocalUnicastAddress,
  isLoopbackAddress,
  isMapped,
  isUnspecifiedAddress,
  maskPrefix,
  parseIpAddress,
  parseIpPrefix,
  prefixContains,
  prefixCovers,
  prefixText,
} from "./ip-address.ts";
import type { IpAddress, IpPrefix } from "./ip-address.ts";
import {
  accepts,
  declare,
  free,
  member,
  noSuchOverload,
  parsed,
  textOf,
  types,
} from "./library.ts";
import type { Library, LibraryFunction } from "./library.ts";
import { OpaqueValue } from "./values.ts";
import type { Value } from "./values.ts";

class IpValue extends OpaqueValue {
  readonly address: IpAddress;

  constructor(address: IpAddress) {
    super(types.ip.name);
    this.address = address;
  }

  /** Size of the address in bytes, used for costs. */
  override get size(): number {
    return this.address.bits / 8;
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof IpValue && equalAddresses(this.address, other.address);
  }

  override print(): string {
    return ipText(this.address);
  }
}

class CidrValue extends OpaqueValue {
  readonly prefix: IpPrefix;

  constructor(prefix: IpPrefix) {
    super(types.cidr.name);
    this.prefix = prefix;
  }

  /** Size of the prefix in bytes. */
  override get size(): number {
    return Math.ceil(this.prefix.length / 8);
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof CidrValue && equalPrefixes(this.prefix, other.prefix);
  }

  override print(): string {
    return prefixText(this.prefix);
  }
}

function addressOf(value: Value | undefined): IpAddress {
  if (!(value instanceof IpValue)) throw noSuchOverload();
  return value.address;
}

function prefixOf(value: Value | undefined): IpPrefix {
  if (!(value instanceof CidrValue)) throw noSuchOverload();
  return value.prefix;
}

function readAddress(text: string): IpAddress {
  const address = readPlainAddress(text);
  if (address.zone !== "") {
    throw new AddressError(`IP address ${goQuote(text)} with zone value is not allowed`);
  }
  if (isMapped(address)) throw mappedFailure(text);
  return address;
}

function readPlainAddress(text: string): IpAddress {
  try {
    return parseIpAddress(text);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    const before = `IP Address ${goQuote(text)} parse error during conversion from string: `;
    throw new AddressError(before + error.message);
  }
}

function mappedFailure(text: string): AddressError {
  return new AddressError(`IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
}

const cidrFailure = "network address parse error during conversion from string: ";

function readPrefix(text: string): IpPrefix {
  const prefix = readPlainPrefix(text);
  if (isMapped(prefix.address)) throw mappedFailure(text);
  return prefix;
}

function readPlainPrefix(text: string): IpPrefix {
  try {
    return parseIpPrefix(text);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    throw new AddressError(cidrFailure + error.message);
  }
}

function ipFromText(text: Value | undefined): IpAddress {
  return parsed(AddressError, () => readAddress(textOf(text)));
}

function cidrFromText(text: Value | undefined): IpPrefix {
  return parsed(AddressError, () => readPrefix(textOf(text)), cidrFailure);
}

function test(name: string, id: string, holds: (address: IpAddress) => boolean): LibraryFunction {
  return declare(
    name,
    member(id, [types.ip], types.bool, (ip) => holds(addressOf(ip))),
  );
}

export const ipLibrary: Library = {
  name: "kubernetes.net.ip",
  since: 30,
  functions: [
    declare(
      "ip",
      free("string_to_ip", [types.string], types.ip, (text) => new IpValue(ipFromText(text))),
    ),
    declare(
      "family",
      member("ip_family", [types.ip], types.int, (ip) => (addressOf(ip).bits === 32 ? 4n : 6n)),
    ),
    declare(
      "ip.isCanonical",
      free("ip_is_canonical", [types.string], types.bool, (text) => {
        return ipText(ipFromText(text)) === text;
      }),
    ),
    test("isUnspecified", "ip_is_unspecified", isUnspecifiedAddress),
    test("isLoopback", "ip_is_loopback", isLoopbackAddress),
    test("isLinkLocalMulticast", "ip_is_link_local_multicast", isLinkLocalMulticastAddress),
    test("isLinkLocalUnicast", "ip_is_link_local_unicast", isLinkLocalUnicastAddress),
    test("isGlobalUnicast", "ip_is_global_unicast", isGlobalUnicastAddress),
    declare(
      "isIP",
      free("is_ip", [types.string], types.bool, (text) =>
        accepts(AddressError, () => readAddress(textOf(text))),
      ),
    ),
    declare(
      "string",
      free("ip_to_string", [types.ip], types.string, (ip) => ipText(addressOf(ip))),
    ),
  ],
};

export const cidrLibrary: Library = {
  name: "kubernetes.net.cidr",
  since: 30,
  functions: [
    declare(
      "cidr",
      free("string_to_cidr", [types.string], types.cidr, (text) => {
        return new CidrValue(cidrFromText(text));
      }),
    ),
    declare(
      "containsIP",
      member("cidr_contains_ip_string", [types.cidr, types.string], types.bool, containsIpText),
      member("cidr_contains_ip_ip", [types.cidr, types.ip], types.bool, (cidr, ip) =>
        prefixContains(prefixOf(cidr), addressOf(ip)),
      ),
    ),
    declare(
      "containsCIDR",
      member("cidr_contains_cidr_string", [types.cidr, types.string], types.bool, (cidr, text) =>
        prefixCovers(prefixOf(cidr), cidrFromText(text)),
      ),
      member("cidr_contains_cidr", [types.cidr, types.cidr], types.bool, (cidr, other) =>
        prefixCovers(prefixOf(cidr), prefixOf(other)),
      ),
    ),
    declare(
      "ip",
      member("cidr_ip", [types.cidr], types.ip, (cidr) => new IpValue(prefixOf(cidr).address)),
    ),
    declare(
      "prefixLength",
      member("cidr_prefix_length", [types.cidr], types.int, (cidr) =>
        BigInt(prefixOf(cidr).length),
      ),
    ),
    declare(
      "masked",
      member("cidr_masked", [types.cidr], types.cidr, (cidr) => {
        return new CidrValue(maskPrefix(prefixOf(cidr)));
      }),
    ),
    declare(
      "isCIDR",
      free("is_cidr", [types.string], types.bool, (text) =>
        accepts(AddressError, () => readPrefix(textOf(text))),
      ),
    ),
    declare(
      "string",
      free("cidr_to_string", [types.cidr], types.string, (cidr) => prefixText(prefixOf(cidr))),
    ),
  ],
};

/** Upstream drops the parser's error here. */
function containsIpText(cidr?: Value, text?: Value): boolean {
  if (!accepts(AddressError, () => readAddress(textOf(text)))) throw noSuchOverload();
  return prefixContains(prefixOf(cidr), ipFromText(text));
}
