import type { WireError } from '../errors.js';
import type { Operations } from './operations.js';

export interface ThreadData {
  readonly file: string;
  readonly analysisModule: string;
  readonly buffer: SharedArrayBuffer;
}

export interface Request {
  readonly id: number;
  readonly operation: keyof Operations;
  readonly args: readonly unknown[];
}

export type Reply =
  | {
      readonly id: number;
      readonly progress: { readonly phase: string; readonly done: number; readonly total: number };
    }
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  /** Copying a text between threads is several times faster than copying the objects that it encodes. */
  | { readonly id: number; readonly ok: true; readonly json: string }
  | { readonly id: number; readonly ok: false; readonly error: WireError };

/** Operations whose answers are plain JSON and large. */
export const jsonOperations: ReadonlySet<keyof Operations> = new Set(['search', 'plainSearch']);

const pathBytes = 4_096;
const headBytes = 16;

/** A file that a thread is working on. */
interface CurrentFile {
  /** Increases with every file. */
  readonly sequence: number;
  /** Empty between files. */
  readonly path: string;
}

/** Memory that both sides see while the thread does not answer: the cancelled operation and the current file. */
interface Shared {
  readonly buffer: SharedArrayBuffer;
  cancel(id: number): void;
  isCancelled(id: number): boolean;
  begin(path: string): void;
  current(): CurrentFile;
}

export function createShared(buffer = new SharedArrayBuffer(headBytes + pathBytes)): Shared {
  const head = new Int32Array(buffer, 0, 4);
  const text = new Uint8Array(buffer, headBytes, pathBytes);
  const encoder = new TextEncoder();
  const scratch = new Uint8Array(pathBytes);
  return {
    buffer,
    cancel: (id) => void Atomics.store(head, 0, id),
    isCancelled: (id) => Atomics.load(head, 0) === id,
    begin: (path) => {
      const { written } = encoder.encodeInto(path, scratch);
      text.set(scratch.subarray(0, written));
      Atomics.store(head, 2, written);
      Atomics.add(head, 1, 1);
    },
    current: () => ({
      sequence: Atomics.load(head, 1),
      path: Buffer.from(Uint8Array.from(text.subarray(0, Atomics.load(head, 2)))).toString('utf8'),
    }),
  };
}
