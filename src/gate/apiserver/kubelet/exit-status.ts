/** Converts the error stream of a kubelet, sent when a command has ended, to upstream's Status. */
import { internalError } from "#api/status.ts";

interface SaidStatus {
  readonly status?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly details?: {
    readonly causes?: readonly ({ readonly reason?: unknown; readonly message?: unknown } | null)[];
  };
}

/** `text`: the error stream's content; "" is success, as in the protocols before v4. */
export function exitStatus(text: string): object {
  if (text === "") return success;
  const said = parsed(text);
  if (said === undefined)
    return internalError(`error stream protocol error: no Status in ${JSON.stringify(text)}`)
      .status;
  if (said.status === "Success") return success;
  if (said.status !== "Failure")
    return internalError("error stream protocol error: unknown error").status;
  if (said.reason !== "NonZeroExitCode")
    return internalError(typeof said.message === "string" ? said.message : "").status;
  const causes = said.details?.causes;
  // Comes from a kubelet, so its type is not trusted.
  const list = Array.isArray(causes) ? causes : [];
  const code: unknown = list.find((cause) => cause?.reason === "ExitCode")?.message;
  if (typeof code !== "string" || !/^\d{1,3}$/.test(code) || Number(code) > 255)
    return internalError("error stream protocol error: no ExitCode cause given").status;
  return exited(Number(code));
}

const success = { metadata: {}, status: "Success" };

function exited(code: number): object {
  const message = `command terminated with non-zero exit code: command terminated with exit code ${code}`;
  const details = { causes: [{ reason: "ExitCode", message: String(code) }] };
  return { metadata: {}, status: "Failure", message, reason: "NonZeroExitCode", details };
}

function parsed(text: string): SaidStatus | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
