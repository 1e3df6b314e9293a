import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type ObjectFault =
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'reset' }
  | { readonly kind: 'truncate' };

/** A stand-in for an S3-compatible store that checks every signature by its own reckoning. */
export interface FakeObjectStore {
  readonly endpoint: string;
  readonly objects: ReadonlyMap<string, Buffer>;
  /** `METHOD /path status` of every request. */
  readonly log: readonly string[];
  /** Each of the next requests meets one of the faults, in order. */
  fail(...faults: ObjectFault[]): void;
  put(path: string, data: string): void;
  stop(): Promise<void>;
}

export const credentials = { accessKeyId: 'AKTEST', secretAccessKey: 'secret/key+1', region: 'eu-test-1' };

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest();

/** AWS Signature Version 4, as the server side of it reads. */
function isSigned({ method = '', url = '', headers }: IncomingMessage, body: Buffer): boolean {
  const pattern =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
  const [, id, day = '', region, names = '', signature] = pattern.exec(headers.authorization ?? '') ?? [];
  const time = String(headers['x-amz-date']);
  if (id !== credentials.accessKeyId || region !== credentials.region || !time.startsWith(day)) return false;
  if (headers['x-amz-content-sha256'] !== sha256(body)) return false;
  if (!['host', 'x-amz-content-sha256', 'x-amz-date'].every((name) => names.split(';').includes(name))) return false;
  const listed = names.split(';').map((name) => `${name}:${String(headers[name])}\n`);
  const canonical = [method, url, '', listed.join(''), names, sha256(body)].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${credentials.secretAccessKey}`);
  return hmac(key, toSign).toString('hex') === signature;
}

export async function startFakeObjectStore(): Promise<FakeObjectStore> {
  const objects = new Map<string, Buffer>();
  const log: string[] = [];
  const faults: ObjectFault[] = [];

  const answer = (request: IncomingMessage, body: Buffer, response: ServerResponse): number => {
    const path = request.url ?? '';
    if (!isSigned(request, body)) return 403;
    if (request.method === 'PUT') {
      objects.set(path, body);
      return 200;
    }
    const found = objects.get(path);
    if (found === undefined) return 404;
    response.setHeader('content-length', found.length);
    if (request.method === 'GET') response.write(found);
    return 200;
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const fault = faults.shift();
      if (fault?.kind === 'reset') {
        log.push(`${request.method} reset`);
        request.socket.resetAndDestroy();
        return;
      }
      if (fault?.kind === 'truncate') {
        log.push(`${request.method} truncate`);
        response.writeHead(200, { 'content-length': 100 });
        response.write('half', () => request.socket.destroy());
        return;
      }
      response.statusCode = fault?.kind === 'status' ? fault.status : answer(request, Buffer.concat(chunks), response);
      log.push(`${request.method} ${request.url} ${response.statusCode}`);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    log,
    fail: (...next) => void faults.push(...next),
    put: (path, data) => void objects.set(path, Buffer.from(data)),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
