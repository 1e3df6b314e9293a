import type { FileHandle } from 'node:fs/promises';

const chunkBytes = 64 * 1024;

/** The bytes of an open file. The file is closed at the end, and also when the reader leaves before the first chunk. */
export function fileChunks(handle: FileHandle): AsyncIterable<Uint8Array> {
  const done = async (): Promise<IteratorReturnResult<undefined>> => {
    await handle.close();
    return { done: true, value: undefined };
  };
  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes);
    return bytesRead === 0 ? done() : { done: false, value: buffer.subarray(0, bytesRead) };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: done }) };
}
