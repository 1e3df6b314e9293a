import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Principal } from '../sdk/index.js';
import type { HttpServerSettings, KeyedPrincipal } from './http-settings.js';

/** The caller of a request. */
export interface Caller {
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
  identify(headers: IncomingHttpHeaders, loopback: boolean): Caller;
  /** The principal of a key that did not come in a header. */
  principalOf(key: string, loopback: boolean): Principal | undefined;
}

interface Identity {
  readonly digest: Buffer;
  readonly bound: Omit<Principal, 'admin' | 'loopback'>;
  readonly admin: boolean;
}

const bearerPattern = /^bearer +(\S+) *$/i;

export function createAuthenticator(settings: HttpServerSettings): Authenticator {
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
  const adminByPlace = (loopback: boolean) => adminDigest === undefined && !keyed && loopback;
  const isAdminKey = (key: string) => adminDigest !== undefined && timingSafeEqual(adminDigest, digestOf(key));
  const adminByKey = (headers: IncomingHttpHeaders) => {
    const sent = headers['x-admin-key'];
    return typeof sent === 'string' && isAdminKey(sent);
  };

  return {
    keyed,
    adminKeyed: adminDigest !== undefined,
    isAdminKey,
    identify(headers, loopback) {
      const sent = keyed ? sentKeys(headers) : [];
      for (const key of sent) {
        const identity = find(key);
        if (!identity) continue;
        const admin = identity.admin || adminByKey(headers);
        return { principal: { ...identity.bound, admin, loopback }, credentials: 'good' };
      }
      const admin = !keyed && (adminByPlace(loopback) || adminByKey(headers));
      return { principal: { ...unknown, admin, loopback }, credentials: sent.length > 0 ? 'bad' : 'none' };
    },
    principalOf(key, loopback) {
      const identity = find(key);
      return identity && { ...identity.bound, admin: identity.admin, loopback };
    },
  };
}

function readIdentities(settings: HttpServerSettings): readonly Identity[] {
  const identities = settings.principals.map(boundIdentity);
  if (settings.apiKey !== undefined) {
    const bound = { id: 'default', authenticated: true };
    identities.push({ digest: digestOf(settings.apiKey), bound, admin: false });
  }
  return identities;
}

function boundIdentity({ key, id, actor, spaces, claims, admin }: KeyedPrincipal): Identity {
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
