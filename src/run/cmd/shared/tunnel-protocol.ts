/** Upgrade protocol of a region's tunnel: HTTP/2 without its own TLS, with the coordinator as the client. */
export const tunnelProtocol = "pilothouse-region-1";
