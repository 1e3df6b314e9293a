import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MortiseError } from '../sdk/index.js';

/**
 * Node's http module without the ESM wrapper. The wrapper reads every export, and one of them loads all of `fetch`, which
 * adds about 30 ms to each start.
 */
export const { createServer, ServerResponse, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http');

/** Binds the server to its address. @throws MortiseError `port_in_use`, `port_not_allowed`, `address_not_available`. */
export function listenOn(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => reject(listenError(error, host, port));
    server.once('error', fail);
    server.listen({ host, port }, () => {
      server.off('error', fail);
      resolve(server.address() as AddressInfo);
    });
  });
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): MortiseError {
  if (error.code === 'EADDRINUSE') {
    return new MortiseError('port_in_use', `Port ${port} on ${host} is in use by another program.`, {
      hint: 'Stop that program, or set MORTISE_PORT to a free port; mortise status shows whether it is a Mortise server.',
      cause: error,
    });
  }
  if (error.code === 'EACCES') {
    return new MortiseError('port_not_allowed', `This user may not listen on port ${port}.`, {
      hint: 'Set MORTISE_PORT to a port above 1023.',
      cause: error,
    });
  }
  return new MortiseError('address_not_available', `This machine cannot listen on ${host}:${port}.`, {
    hint: 'Set MORTISE_HOST to an address of this machine, such as 127.0.0.1.',
    cause: error,
  });
}
