/** What an agent upgrades to: then HTTP/2 without TLS of its own, whose client is the coordinator. */
export const tunnelProtocol = "pilothouse-region-1";
