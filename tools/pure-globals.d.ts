/**
 * What a pure room may use of the web's standard globals: values and cancellation, no clock, no I/O.
 * Rooms marked pure in layers.ts are compiled against this file and no host types (tsconfig.pure.json).
 */
interface TextEncoder {
  encode(text?: string): Uint8Array<ArrayBuffer>;
  encodeInto(text: string, target: Uint8Array): { readonly read: number; readonly written: number };
}
declare const TextEncoder: { new (): TextEncoder };

interface TextDecoder {
  decode(bytes?: Uint8Array | ArrayBuffer, options?: { readonly stream?: boolean }): string;
}
declare const TextDecoder: {
  new (
    label?: string,
    options?: { readonly fatal?: boolean; readonly ignoreBOM?: boolean },
  ): TextDecoder;
};

interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", f: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", f: () => void): void;
}
declare const AbortSignal: {
  abort(reason?: unknown): AbortSignal;
  any(signals: readonly AbortSignal[]): AbortSignal;
};

interface AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}
declare const AbortController: { new (): AbortController };

interface URLSearchParams extends Iterable<[string, string]> {
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string): boolean;
  set(name: string, value: string): void;
  append(name: string, value: string): void;
  delete(name: string): void;
  toString(): string;
  readonly size: number;
}
declare const URLSearchParams: {
  new (
    init?: string | Readonly<Record<string, string>> | Iterable<[string, string]>,
  ): URLSearchParams;
};

interface URL {
  readonly protocol: string;
  readonly hostname: string;
  readonly host: string;
  readonly port: string;
  readonly pathname: string;
  readonly search: string;
  readonly hash: string;
  readonly username: string;
  readonly password: string;
}
declare const URL: { new (text: string, base?: string): URL; canParse(text: string): boolean };

declare function structuredClone<T>(value: T): T;
declare function queueMicrotask(f: () => void): void;
declare function atob(text: string): string;
declare function btoa(text: string): string;
