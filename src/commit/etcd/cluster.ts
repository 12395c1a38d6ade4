/**
 * The Cluster, Auth and Health services, as a single member without users answers them: like etcd with
 * authentication off. Requests that need users, roles or members are refused with the reason. Replicas are members:
 * each adds itself when it starts, and one that is gone for good may be removed.
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

/** The list of members of a replicated store. */
export interface Members {
  /** Rejects with GrpcError, like `remove`. */
  list(): Promise<readonly Member[]>;
  /** @returns false when no member has this id. */
  remove(id: bigint): Promise<boolean>;
}

export interface Member {
  readonly id: bigint;
  readonly name: string;
  readonly clientUrls: readonly string[];
}

interface ClusterOptions {
  readonly name: string;
  readonly clientUrls: () => readonly string[];
  /** Absent: this server is the only member. */
  readonly members?: Members;
}

export function clusterMethods(
  deps: ClusterDeps,
  options: ClusterOptions,
): Readonly<Record<string, Method>> {
  const { identity } = deps;
  const { members } = options;
  const self = (): Member => ({
    id: identity.memberId,
    name: options.name,
    clientUrls: options.clientUrls(),
  });
  const list = async (): Promise<m.Of<typeof m.memberListResponse>> => {
    const all = (await members?.list()) ?? [self()];
    return {
      header: identity.header(0),
      members: all.map((one) => ({ ...one, peerUrls: [], isLearner: false })),
    };
  };
  return {
    MemberList: unary(m.memberListRequest, m.memberListResponse, list),
    MemberAdd: refuse("oneMember"),
    MemberRemove: members === undefined ? refuseMember(identity) : removeMember(identity, members),
    MemberUpdate: refuseMember(identity),
    MemberPromote: refuseMember(identity),
  };
}

function removeMember(identity: Identity, members: Members): Method {
  return unary(m.memberIdRequest, m.memberListResponse, async ({ id }) => {
    if (id === identity.memberId) throw etcdError("oneMember");
    if (!(await members.remove(id))) throw etcdError("memberNotFound");
    return { header: identity.header(0), members: [] };
  });
}

function refuseMember(identity: Identity): Method {
  return unary(m.memberIdRequest, m.headerResponse, ({ id }) => {
    throw etcdError(id === identity.memberId ? "oneMember" : "memberNotFound");
  });
}

/** Answers like an etcd with authentication off and without users. */
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

/** Reports health for the server as a whole only. */
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
