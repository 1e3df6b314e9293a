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
    let chunks: Buffer | Buffer[] = empty;
    let size = 0;
    let settled = false;
    const refuse = (error: Error) => {
      settled = true;
      request.pause();
      reject(error);
    };
    // The listeners stay: taking them off again costs more than the flag.
    request.on('data', (chunk: Buffer) => {
      if (settled) return;
      size += chunk.length;
      if (limits.refuseContent) refuse(limits.refuseContent());
      else if (size > limits.maxBytes) refuse(limits.tooLarge());
      else if (Array.isArray(chunks)) chunks.push(chunk);
      else chunks = chunks.length === 0 ? chunk : [chunks, chunk];
    });
    request.on('end', () => {
      if (settled) return;
      settled = true;
      resolve(Array.isArray(chunks) ? Buffer.concat(chunks, size) : chunks);
    });
    request.on('close', () => {
      if (settled) return;
      settled = true;
      reject(new MortiseError('client_closed', 'the client left before its body arrived', { status: 499 }));
    });
  });
}
