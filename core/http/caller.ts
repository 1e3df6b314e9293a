import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { Principal } from '../sdk/index.js';
import type { ConfiguredPrincipal, HttpSettings } from '../settings/types.js';

/** The caller of a request. */
interface Caller {
  readonly principal: Principal;
  readonly credentials: 'none' | 'good' | 'bad';
}

/** The keys of this server, compared by digest in constant time. */
export interface Authenticator {
  /** At least one API key is configured. */
  readonly keyed: boolean;
  /** The admin key is configured. */
  readonly adminKeyed: boolean;
  isAdminKey(key: string): boolean;
  /** How a caller gets the admin right that a request lacks. */
  readonly adminHint: string;
  /** `local`: only a caller on this machine can have sent the request. */
  identify(headers: IncomingHttpHeaders, loopback: boolean, local: boolean): Caller;
  /** The principal of a key that did not come in a header. */
  principalOf(key: string, loopback: boolean): Principal | undefined;
  /** As `HttpService.asConfigured`. */
  asConfigured(stored: Principal): Principal | undefined;
}

interface Identity {
  readonly digest: Buffer;
  readonly bound: Omit<Principal, 'admin' | 'loopback'>;
  readonly admin: boolean;
}

const bearerPattern = /^bearer +(\S+) *$/i;

function adminHint(keyed: boolean, adminKeyed: boolean): string {
  if (adminKeyed) return 'Send the admin key in the header X-Admin-Key.';
  return keyed
    ? 'Set GOVERNANCE_ADMIN_KEY on the server and send it in the header X-Admin-Key.'
    : 'Call from the machine itself, without a proxy, or set GOVERNANCE_ADMIN_KEY on the server.';
}

export function createAuthenticator(settings: HttpSettings): Authenticator {
  const identities = readIdentities(settings);
  const adminDigest = settings.adminKey === undefined ? undefined : digestOf(settings.adminKey);
  const keyed = identities.length > 0;
  const unknown: Omit<Principal, 'admin' | 'loopback'> = { id: keyed ? 'anonymous' : 'local', authenticated: false };

  const find = (key: string): Identity | undefined => {
    const digest = digestOf(key);
    let found: Identity | undefined;
    for (const identity of identities) {
      if (timingSafeEqual(identity.digest, digest)) found = identity;
    }
    return found;
  };

  /** Without an admin key, local callers have the right, and only while the server has no key at all. */
  const adminByPlace = (local: boolean) => adminDigest === undefined && !keyed && local;
  const isAdminKey = (key: string) => adminDigest !== undefined && timingSafeEqual(adminDigest, digestOf(key));
  const adminByKey = (headers: IncomingHttpHeaders) => {
    const sent = headers['x-admin-key'];
    return typeof sent === 'string' && isAdminKey(sent);
  };

  return {
    keyed,
    adminKeyed: adminDigest !== undefined,
    isAdminKey,
    adminHint: adminHint(keyed, adminDigest !== undefined),
    identify(headers, loopback, local) {
      const sent = keyed ? sentKeys(headers) : [];
      for (const key of sent) {
        const identity = find(key);
        if (!identity) continue;
        const admin = identity.admin || adminByKey(headers);
        return { principal: { ...identity.bound, admin, loopback }, credentials: 'good' };
      }
      const admin = !keyed && (adminByPlace(local) || adminByKey(headers));
      return { principal: { ...unknown, admin, loopback }, credentials: sent.length > 0 ? 'bad' : 'none' };
    },
    principalOf(key, loopback) {
      const identity = find(key);
      return identity && { ...identity.bound, admin: identity.admin, loopback };
    },
    asConfigured(stored) {
      if (!keyed || !stored.authenticated) return stored;
      const identity = identities.find(({ bound }) => bound.id === stored.id);
      return identity && { ...identity.bound, admin: false, loopback: false };
    },
  };
}

function readIdentities(settings: HttpSettings): readonly Identity[] {
  const identities = settings.principals.map(boundIdentity);
  if (settings.apiKey !== undefined) {
    const bound = { id: 'default', authenticated: true };
    identities.push({ digest: digestOf(settings.apiKey), bound, admin: false });
  }
  return identities;
}

function boundIdentity({ key, id, actor, spaces, claims, admin }: ConfiguredPrincipal): Identity {
  return {
    digest: digestOf(key),
    bound: {
      id,
      authenticated: true,
      claims,
      ...(actor !== undefined && { actor }),
      ...(spaces !== undefined && { spaces }),
    },
    admin: admin ?? false,
  };
}

function sentKeys(headers: IncomingHttpHeaders): readonly string[] {
  const keys: string[] = [];
  const own = headers['x-api-key'];
  if (typeof own === 'string') keys.push(own);
  if (headers.authorization !== undefined) keys.push(bearerPattern.exec(headers.authorization)?.[1] ?? '');
  return keys;
}

function digestOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

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
 * header only removes the rights of a loopback caller.
 */
export function readClientAddress(request: IncomingMessage, trustProxy: boolean): ClientAddress {
  const peer = plainAddress(request.socket.remoteAddress ?? '');
  if (!wasForwarded(request)) return { address: peer, loopback: isLoopback(peer) };
  const chain = trustProxy ? request.headers['x-forwarded-for'] : undefined;
  const last = (Array.isArray(chain) ? chain.at(-1) : chain)?.split(',').at(-1)?.trim();
  return { address: last !== undefined && isIP(last) !== 0 ? plainAddress(last) : peer, loopback: false };
}

/** The caller as a refusal names it: the principal, or the class of the address, never the address. */
export function refusalSubject(caller: {
  readonly principal: Principal | undefined;
  readonly client: ClientAddress;
}): string {
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

/** Headers that proxies, load balancers and CDNs add to a forwarded request. */
const proxyHeaders = new Set([
  'forwarded',
  'via',
  'client-ip',
  'true-client-ip',
  'fastly-client-ip',
  'fly-client-ip',
  'cdn-loop',
  'x-client-ip',
  'x-real-ip',
  'x-real-port',
  'x-cluster-client-ip',
  'x-remote-ip',
  'x-remote-addr',
  'x-host',
  'x-scheme',
  'x-varnish',
  'x-amzn-trace-id',
  'x-appengine-user-ip',
  'x-cloud-trace-context',
  'x-azure-clientip',
  'x-azure-fdid',
  'x-arr-ssl',
]);
const proxyPrefix = /^(?:x-(?:original|forwarded|proxy(?:user)?|envoy|akamai|vercel|nf)-|cf-)/;

function wasForwarded(request: IncomingMessage): boolean {
  for (const name in request.headers) {
    if (proxyHeaders.has(name) || proxyPrefix.test(name)) return true;
  }
  return false;
}

/** The bucket of a request: the principal's, or the address's. */
export function callerKey(caller: {
  readonly principal: Principal | undefined;
  readonly client: ClientAddress;
}): string {
  const { principal, client } = caller;
  return principal?.authenticated ? `key ${principal.id}` : `address ${client.address}`;
}
