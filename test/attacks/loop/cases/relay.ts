/** What clients and the upstream send a relay. */
import { type Attack } from "../attack.ts";

export const relayAttacks: readonly Attack[] = [
  {
    name: "a label selector of 60 KB through the relay",
    target: "relay",
    requests: [
      {
        method: "GET",
        path: `/api/v1/pods?labelSelector=${Array.from({ length: 6000 }, (_, i) => `a${i}`).join("%2C")}`,
      },
    ],
    expect: [200, 400, 414, 431],
  },
];
