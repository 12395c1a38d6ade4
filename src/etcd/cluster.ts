/**
 * The Cluster, Auth and Health services as a single member without users answers them: as etcd with
 * authentication off; what would need users, roles or members is refused with the reason.
 */
import type { Store } from "#store/store.ts";
import * as m from "#wire/etcd-messages.ts";
import { Code, GrpcError, prefixBytes } from "#wire/grpc.ts";
import { nothing, serverStream, unary, type Method } from "./call.ts";
import type { Identity } from "./identity.ts";
import { etcdError, type ErrorName } from "./rpc-error.ts";

interface ClusterDeps {
  readonly store: Store;
  readonly identity: Identity;
}

export function clusterMethods(
  deps: ClusterDeps,
  options: { readonly name: string; readonly clientUrls: () => readonly string[] },
): Readonly<Record<string, Method>> {
  const { identity } = deps;
  const self = (): m.Of<typeof m.member> => ({
    id: identity.memberId,
    name: options.name,
    peerUrls: [],
    clientUrls: options.clientUrls(),
    isLearner: false,
  });
  return {
    MemberList: unary(m.memberListRequest, m.memberListResponse, () => ({
      header: identity.header(0),
      members: [self()],
    })),
    MemberAdd: refuse("oneMember"),
    MemberRemove: refuseMember(identity),
    MemberUpdate: refuseMember(identity),
    MemberPromote: refuseMember(identity),
  };
}

function refuseMember(identity: Identity): Method {
  return unary(m.memberIdRequest, m.headerResponse, ({ id }) => {
    throw etcdError(id === identity.memberId ? "oneMember" : "memberNotFound");
  });
}

/** Answers as etcd does while authentication is off and no user was ever added. */
export function authMethods({ store, identity }: ClusterDeps): Readonly<Record<string, Method>> {
  const header = (): m.Header => identity.header(store.commitRevision);
  const says = (): Method => unary(m.empty, m.headerResponse, () => ({ header: header() }));
  return {
    AuthStatus: unary(m.empty, m.authStatusResponse, () => ({
      header: header(),
      enabled: false,
      authRevision: 1n,
    })),
    AuthEnable: refuse("rootUserNotExist"),
    AuthDisable: says(),
    Authenticate: refuse("authNotEnabled"),
    UserAdd: refuse("noAuth"),
    UserGet: refuse("userNotFound"),
    UserList: says(),
    UserDelete: refuse("userNotFound"),
    UserChangePassword: refuse("userNotFound"),
    UserGrantRole: refuse("userNotFound"),
    UserRevokeRole: refuse("userNotFound"),
    RoleAdd: refuse("noAuth"),
    RoleGet: refuse("roleNotFound"),
    RoleList: says(),
    RoleDelete: refuse("roleNotFound"),
    RoleGrantPermission: refuse("roleNotFound"),
    RoleRevokePermission: refuse("roleNotFound"),
  };
}

const serving = 1;
const serviceUnknown = 3;

/** Health is reported for the server as a whole only. */
export function healthMethods(): Readonly<Record<string, Method>> {
  return {
    Check: unary(m.healthCheckRequest, m.healthCheckResponse, ({ service }) => {
      if (service !== "") throw new GrpcError(Code.notFound, "unknown service");
      return { status: serving };
    }),
    Watch: serverStream((bytes, call) => {
      const { service } = m.healthCheckRequest.decode(bytes);
      const status = service === "" ? serving : serviceUnknown;
      call.send(m.healthCheckResponse.encode({ status }, prefixBytes));
      return nothing;
    }),
  };
}

function refuse(name: ErrorName): Method {
  return unary(m.empty, m.empty, () => {
    throw etcdError(name);
  });
}
