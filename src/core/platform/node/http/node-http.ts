/**
 * node:http, without what an `import` of it brings.
 *
 * Why not import it: an ES import of a built-in module reads each of its exports, and those of node:http
 * for WebSocket load all of undici: 12 MB of resident memory and 40 ms of a start. `require` reads none.
 * Types are imported from node:http as usual.
 */
import { createRequire } from "node:module";

const http = createRequire(import.meta.url)("node:http") as typeof import("node:http");

export const { Agent, createServer, request, ServerResponse, STATUS_CODES } = http;
