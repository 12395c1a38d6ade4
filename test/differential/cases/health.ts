/** Health: the groups with every check, one check alone, and checks left out. */
import { get, type Suite } from "../exchange.ts";

export const groups = ["/healthz", "/livez", "/readyz"] as const;

export const health: Suite = {
  name: "health",
  cases: [
    { name: "groups", steps: groups.map((path) => get(`${path}?verbose`)) },
    {
      name: "one check alone",
      steps: [
        ...["ping", "log", "etcd", "poststarthook/rbac/bootstrap-roles"].flatMap((check) =>
          groups.map((path) => get(`${path}/${check}`)),
        ),
        ...["etcd-readiness", "informer-sync", "shutdown", "nothing", "", "ping/"].flatMap(
          (check) => groups.map((path) => get(`${path}/${check}`)),
        ),
        get("/readyz/etcd?verbose"),
        get("/readyz/etcd?exclude=etcd"),
      ],
    },
    {
      name: "left out",
      steps: [
        get("/readyz?exclude=etcd"),
        get("/readyz?exclude="),
        get("/readyz?verbose=false&exclude=etcd&exclude=etcd&exclude=zz&exclude=aa&exclude=aa"),
        get("/readyz?verbose&exclude="),
        get("/livez?verbose&exclude=shutdown"),
      ],
    },
  ],
};
