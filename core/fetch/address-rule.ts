import ipaddr from 'ipaddr.js';

type AnyAddress = ReturnType<typeof ipaddr.parse>;

/**
 * Whether an address is one of the public internet. Loopback, private, link-local (with the metadata services of clouds),
 * shared, reserved and multicast ranges are not, nor is an IPv6 form that carries such an IPv4 address inside.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  const inner = carriedIpv4(parsed);
  return inner ? inner.range() === 'unicast' : parsed.range() === 'unicast';
}

/** The IPv4 address inside a NAT64 (RFC 6052) or 6to4 (RFC 3056) address. */
function carriedIpv4(address: AnyAddress): AnyAddress | undefined {
  if (address.kind() !== 'ipv6') return undefined;
  const bytes = address.toByteArray();
  const range = address.range();
  if (range === 'rfc6052') return ipaddr.fromByteArray(bytes.slice(12, 16));
  return range === '6to4' ? ipaddr.fromByteArray(bytes.slice(2, 6)) : undefined;
}
