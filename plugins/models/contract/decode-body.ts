import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, type ZlibOptions, zstdDecompress } from 'node:zlib';

type Decoder = (bytes: Buffer, options: ZlibOptions) => Promise<Buffer>;

const decoders: Readonly<Record<string, Decoder>> = {
  gzip: promisify<Buffer, ZlibOptions, Buffer>(gunzip),
  'x-gzip': promisify<Buffer, ZlibOptions, Buffer>(gunzip),
  deflate: promisify<Buffer, ZlibOptions, Buffer>(inflate),
  br: promisify<Buffer, object, Buffer>(brotliDecompress),
  zstd: promisify<Buffer, object, Buffer>(zstdDecompress),
};

/** Maximum size of a decoded body. */
const maxBodyBytes = 64 * 1_024 * 1_024;

/** Decodes a content coding. @throws Error for an unknown coding, damaged bytes, or more than 64 MiB */
export async function decodeBody(bytes: Buffer, encoding = 'identity'): Promise<Buffer> {
  if (encoding === 'identity') return bytes;
  const decode = decoders[encoding.toLowerCase()];
  if (!decode) throw new Error('The encoding is not known.');
  return decode(bytes, { maxOutputLength: maxBodyBytes });
}
