import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { Principal } from '../sdk/index.js';

const privateRanges = new BlockList();
privateRanges.addSubnet('10.0.0.0', 8);
privateRanges.addSubnet('100.64.0.0', 10);
privateRanges.addSubnet('169.254.0.0', 16);
privateRanges.addSubnet('172.16.0.0', 12);
privateRanges.addSubnet('192.168.0.0', 16);
privateRanges.addSubnet('fc00::', 7, 'ipv6');
privateRanges.addSubnet('fe80::', 10, 'ipv6');

/** Where a request comes from. */
export interface ClientAddress {
  readonly address: string;
  /** A loopback peer, without the headers of a proxy. */
  readonly loopback: boolean;
}

/**
 * With a trusted proxy the client is the last entry of `X-Forwarded-For`, which that proxy wrote itself. Without one the
 * header only takes the rights of a loopback caller away.
 */
export function readClientAddress(request: IncomingMessage, trustProxy: boolean): ClientAddress {
  const peer = plainAddress(request.socket.remoteAddress ?? '');
  if (!wasForwarded(request)) return { address: peer, loopback: isLoopback(peer) };
  const chain = trustProxy ? request.headers['x-forwarded-for'] : undefined;
  const last = (Array.isArray(chain) ? chain.at(-1) : chain)?.split(',').at(-1)?.trim();
  return { address: last !== undefined && isIP(last) !== 0 ? plainAddress(last) : peer, loopback: false };
}

/** The caller as a refusal names it: the principal, or the class of the address, never the address. */
export function refusalSubject(caller: { readonly principal: Principal | undefined; readonly client: ClientAddress }) {
  return caller.principal?.authenticated ? caller.principal.id : addressClass(caller.client.address);
}

function addressClass(address: string): 'loopback' | 'private' | 'public' {
  if (isLoopback(address)) return 'loopback';
  const family = isIP(address);
  return family !== 0 && privateRanges.check(address, family === 4 ? 'ipv4' : 'ipv6') ? 'private' : 'public';
}

function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}

function wasForwarded(request: IncomingMessage): boolean {
  for (const name in request.headers) {
    if (name.startsWith('x-forwarded-') || name === 'forwarded') return true;
  }
  return false;
}
