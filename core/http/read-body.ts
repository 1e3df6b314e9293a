import type { IncomingMessage } from 'node:http';
import { MortiseError } from '../sdk/index.js';
import type { RefusedRequest } from './refusal-rows.js';

const empty = Buffer.alloc(0);

export interface BodyLimits {
  readonly maxBytes: number;
  readonly tooLarge: () => RefusedRequest;
  /** Called for the first byte: only an empty body is wanted. */
  readonly refuseContent?: () => RefusedRequest;
}

/** Whether the headers announce a body; a chunked one may turn out to be empty. */
export function announcesBody(request: IncomingMessage): 'none' | 'sized' | 'chunked' {
  if (request.headers['transfer-encoding'] !== undefined) return 'chunked';
  const length = request.headers['content-length'];
  return length === undefined || Number(length) === 0 ? 'none' : 'sized';
}

/**
 * Collects a body of limited size; one that is too large is refused at the byte too many.
 * @throws RefusedRequest made by `limits`; MortiseError `client_closed` when the client leaves in the middle.
 */
export function readBody(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined;
    let chunks: Buffer[] | undefined;
    let size = 0;
    const finish = (error: Error | undefined) => {
      request.off('data', take).off('end', end).off('close', gone).off('error', gone);
      if (error) {
        request.pause();
        reject(error);
        return;
      }
      resolve(chunks ? Buffer.concat(chunks, size) : (first ?? empty));
    };
    const take = (chunk: Buffer) => {
      size += chunk.length;
      if (limits.refuseContent) finish(limits.refuseContent());
      else if (size > limits.maxBytes) finish(limits.tooLarge());
      else if (!first) first = chunk;
      else if (chunks) chunks.push(chunk);
      else chunks = [first, chunk];
    };
    const end = () => finish(undefined);
    const gone = () =>
      finish(new MortiseError('client_closed', 'the client left before its body arrived', { status: 499 }));
    request.on('data', take).on('end', end).on('close', gone).on('error', gone);
  });
}
