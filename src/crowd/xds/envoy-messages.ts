/**
 * The messages of Envoy's API that are served, as far as they are used.
 *
 * After  envoyproxy/envoy api/: the file of each message beside it, field numbers in the calls. Read back
 *        with those definitions by `mapping.test.ts`.
 */
import { anyMessage, bytesField, message, numberField, textField } from "./message-fields.ts";

const empty = new Uint8Array(0);
const extensions = "type.googleapis.com/envoy.extensions";
const managerType = `${extensions}.filters.network.http_connection_manager.v3.HttpConnectionManager`;
const routerType = `${extensions}.filters.http.router.v3.Router`;
const protocolOptionsType = `${extensions}.upstreams.http.v3.HttpProtocolOptions`;
/** ConfigSource.resource_api_version, ApiVersion.V3. */
const apiVersion3 = 2;
const connectSeconds = 5;

/** config/core/v3/config_source.proto ConfigSource: ads = 3, resource_api_version = 6. */
const fromThisStream = message(bytesField(3, empty), numberField(6, apiVersion3));

/** config/cluster/v3/cluster.proto Cluster, type EDS. */
export function clusterMessage(name: string, isHttp2: boolean): Uint8Array {
  const edsType = 3;
  return message(
    textField(1, name),
    numberField(2, edsType),
    bytesField(3, bytesField(1, fromThisStream)),
    bytesField(4, numberField(1, connectSeconds)),
    // common_lb_config { locality_weighted_lb_config = 3 }: makes Envoy use the weights of localities.
    bytesField(27, bytesField(3, empty)),
    isHttp2 ? http2Options : empty,
  );
}

/**
 * typed_extension_protocol_options = 36, a map entry; extensions/upstreams/http/v3/http_protocol_options.proto
 * HttpProtocolOptions: explicit_http_config = 3 { http2_protocol_options = 2 }.
 */
const http2Options = bytesField(
  36,
  message(
    textField(1, "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"),
    bytesField(2, anyMessage(protocolOptionsType, bytesField(3, bytesField(2, empty)))),
  ),
);

/** config/core/v3/health_check.proto HealthStatus. */
export const Health = { healthy: 1, unhealthy: 2, draining: 3 } as const;
export type Health = (typeof Health)[keyof typeof Health];

export interface LoadEndpoint {
  readonly address: string;
  readonly port: number;
  readonly health: Health;
}

export interface Locality {
  /** Region of the endpoints; "" or absent: not sent. */
  readonly region?: string;
  readonly zone: string;
  /** Priority, 0 first. The next is used when too few endpoints of those before are healthy. */
  readonly priority: number;
  readonly endpoints: readonly LoadEndpoint[];
}

/** config/endpoint/v3/endpoint.proto ClusterLoadAssignment: cluster_name = 1, endpoints = 2. */
export function loadAssignment(name: string, localities: readonly Locality[]): Uint8Array {
  return message(
    textField(1, name),
    ...localities.map((locality) => bytesField(2, localityMessage(locality))),
  );
}

/** LocalityLbEndpoints: locality = 1 { region = 1, zone = 2 }. The weight of a locality is its number of endpoints. */
function localityMessage({ region = "", zone, priority, endpoints }: Locality): Uint8Array {
  return message(
    bytesField(1, message(textField(1, region), textField(2, zone))),
    ...endpoints.map((one) => bytesField(2, endpointMessage(one))),
    bytesField(3, numberField(1, endpoints.length)),
    numberField(5, priority),
  );
}

/** LbEndpoint: endpoint = 1 { address = 1 }, health_status = 2, load_balancing_weight = 4. */
function endpointMessage({ address, port, health }: LoadEndpoint): Uint8Array {
  return message(
    bytesField(1, bytesField(1, socketAddress(address, port))),
    numberField(2, health),
    bytesField(4, numberField(1, 1)),
  );
}

/** config/core/v3/address.proto Address: socket_address = 1 { address = 2, port_value = 3 }. */
function socketAddress(address: string, port: number): Uint8Array {
  return bytesField(1, message(textField(2, address), numberField(3, port)));
}

/** config/listener/v3/listener.proto Listener for clients without a proxy: api_listener = 19. */
export function apiListener(name: string, routesName: string): Uint8Array {
  const manager = anyMessage(managerType, connectionManager(name, routesName));
  return message(textField(1, name), bytesField(19, bytesField(1, manager)));
}

/** Envoy's Listener: address = 2, filter_chains = 3 { filters = 3 { name = 1, typed_config = 4 } }; accepts any port in a host. */
export function socketListener(name: string, routesName: string, port: number): Uint8Array {
  // strip_any_host_port = 42: routes have hosts without ports.
  const options = message(connectionManager(name, routesName), numberField(42, 1));
  const manager = anyMessage(managerType, options);
  const filter = message(
    textField(1, "envoy.filters.network.http_connection_manager"),
    bytesField(4, manager),
  );
  return message(
    textField(1, name),
    bytesField(2, socketAddress("0.0.0.0", port)),
    bytesField(3, bytesField(3, filter)),
  );
}

/** HttpConnectionManager: stat_prefix = 2, rds = 3 { config_source = 1, route_config_name = 2 }, http_filters = 5. */
function connectionManager(statPrefix: string, routesName: string): Uint8Array {
  const routes = message(bytesField(1, fromThisStream), textField(2, routesName));
  const router = message(
    textField(1, "envoy.filters.http.router"),
    bytesField(4, anyMessage(routerType, empty)),
  );
  return message(textField(2, statPrefix), bytesField(3, routes), bytesField(5, router));
}
