/** Bytes of the client port's connections under etcd's metric names; closed connections are kept as sums. */
import type { MetricSet } from "#metrics/metric-set.ts";

interface Counted {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  once(event: "close", f: () => void): unknown;
}

export class Traffic {
  readonly #open = new Set<Counted>();
  #received = 0;
  #sent = 0;

  constructor(set: MetricSet) {
    set.gaugeOf(
      "etcd_network_client_grpc_received_bytes_total",
      "Bytes received from clients.",
      [],
      () => [[[], this.#sum(this.#received, ({ bytesRead }) => bytesRead)]],
    );
    set.gaugeOf("etcd_network_client_grpc_sent_bytes_total", "Bytes sent to clients.", [], () => [
      [[], this.#sum(this.#sent, ({ bytesWritten }) => bytesWritten)],
    ]);
  }

  add(socket: Counted): void {
    this.#open.add(socket);
    socket.once("close", () => {
      this.#open.delete(socket);
      this.#received += socket.bytesRead;
      this.#sent += socket.bytesWritten;
    });
  }

  #sum(closed: number, of: (socket: Counted) => number): number {
    let sum = closed;
    for (const socket of this.#open) sum += of(socket);
    return sum;
  }
}
