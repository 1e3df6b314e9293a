import { type LookupAddress, lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { MortiseError } from '../sdk/index.js';

/** The refusal of an outbound request; it names only the host, because paths and queries may contain secrets. */
export function networkDenied(host: string, why: string, hint?: string): MortiseError {
  return new MortiseError('network_denied', `The host ${host} may not be reached: ${why}.`, {
    status: 403,
    details: { host },
    ...(hint !== undefined && { hint }),
  });
}

type AnyAddress = ReturnType<typeof ipaddr.parse>;

/**
 * Whether an address is on the public internet. Loopback, private, link-local (with the metadata services of clouds),
 * shared, reserved and multicast ranges are not, nor is an IPv6 address that embeds such an IPv4 address.
 */
function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  const inner = embeddedIpv4(parsed);
  return inner ? inner.range() === 'unicast' : parsed.range() === 'unicast';
}

/** Metadata services of clouds (AWS, Alibaba, Oracle, Azure) that are not link-local. */
const metadataAddresses = new Set(['fd00:ec2::254', '100.100.100.200', '192.0.0.192', '168.63.129.16']);

/** Whether an address is link-local or belongs to a metadata service, in any IPv6 form. */
function isLinkLocalAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  const inner = embeddedIpv4(parsed) ?? parsed;
  return inner.range() === 'linkLocal' || metadataAddresses.has(inner.toString());
}

/** The IPv4 address embedded in a NAT64 (RFC 6052) or 6to4 (RFC 3056) address. */
function embeddedIpv4(address: AnyAddress): AnyAddress | undefined {
  if (address.kind() !== 'ipv6') return undefined;
  const bytes = address.toByteArray();
  const range = address.range();
  if (range === 'rfc6052') return ipaddr.fromByteArray(bytes.slice(12, 16));
  return range === '6to4' ? ipaddr.fromByteArray(bytes.slice(2, 6)) : undefined;
}

/**
 * Whether a host is covered by one of a manifest's patterns: `api.example.com`, `*.example.com` (its subdomains, not
 * the name itself) or `*`. Case, a final dot and the port are ignored.
 */
export function matchesHost(patterns: readonly string[], host: string): boolean {
  const name = plain(host);
  return patterns.some((pattern) => {
    if (pattern === '*') return true;
    const wanted = plain(pattern);
    return wanted.startsWith('*.') ? name.endsWith(wanted.slice(1)) && name.length >= wanted.length : name === wanted;
  });
}

function plain(host: string): string {
  return host
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/^\[(.*)\]$/, '$1');
}

/** Resolves all addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** The system's resolver. */
export const resolveBySystem: Resolve = (hostname) =>
  new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });

/** The addresses that a request may reach, and the reason in a refusal. */
export interface AddressRule {
  allows(address: string): boolean;
  readonly why: string;
}

/** For addresses from users, models or other servers. */
export const publicOnly: AddressRule = { allows: isPublicAddress, why: 'it is not on the public internet' };

/** For addresses that an administrator configured. */
export const notLinkLocal: AddressRule = {
  allows: (address) => !isLinkLocalAddress(address),
  why: 'its address is link-local or belongs to a metadata service',
};

/**
 * A lookup for connections to untrusted addresses. The connection is made to exactly the addresses that were
 * checked, so DNS rebinding is not possible; one forbidden address makes the name forbidden.
 */
export function createPinnedLookup(resolve: Resolve, { allows, why }: AddressRule = publicOnly): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (!first || addresses.some(({ address }) => !allows(address))) {
          callback(networkDenied(hostname, why), '', 0);
        } else if (options.all) {
          callback(null, [...addresses]);
        } else {
          callback(null, first.address, first.family);
        }
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    );
  };
}
