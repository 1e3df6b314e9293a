import { isIP } from 'node:net';
import type { HttpSettings } from '../settings/types.js';

/** The host names that this server accepts: protects against DNS rebinding and foreign pages. */
export interface HostCheck {
  /** Origins named in the settings, as browsers write them. */
  readonly listedOrigins: ReadonlySet<string>;
  host(value: string | undefined): boolean;
  /** `host` is the (accepted) Host header of the same request. */
  origin(value: string, host: string | undefined): boolean;
  /** The origin of this server's own pages, or a listed one. Pages on other ports of loopback are neither. */
  trustedOrigin(value: string, host: string | undefined): boolean;
}

interface Authority {
  /** Lower case, IPv6 without brackets. */
  readonly name: string;
  readonly port: string;
}

const authorityPattern = /^(?:\[([0-9a-f:.]+)\]|([^\s:/?#@[\]\\,]+))(?::(\d{0,5}))?$/i;
const wildcards = new Set(['0.0.0.0', '::', '']);
const rememberedVerdicts = 256;

/**
 * Accepts loopback names with any port, the bind host, listed hosts, and, bound to a wildcard address, IP literals. An
 * origin that is an IP literal must be the one the request was sent to, because any page may be served from an address.
 */
export function createHostCheck(settings: HttpSettings): HostCheck {
  const wildcard = wildcards.has(settings.host);
  const names = new Set(['localhost', '127.0.0.1', '::1']);
  const withPort = new Set<string>();
  if (!wildcard) names.add(settings.host.toLowerCase().replace(/^\[|\]$/g, ''));
  for (const listed of settings.allowedHosts) {
    const authority = parseAuthority(listed.trim());
    if (!authority) continue;
    if (authority.port === '') names.add(authority.name);
    else withPort.add(`${authority.name} ${authority.port}`);
  }
  const origins = new Set(settings.allowedOrigins.map((origin) => normalOrigin(origin) ?? origin));

  const named = ({ name, port }: Authority) => names.has(name) || withPort.has(`${name} ${port}`);
  const hostVerdicts = new Map<string, boolean>();
  const host = (value: string) => {
    const authority = parseAuthority(value);
    return authority !== undefined && (named(authority) || (wildcard && isIP(authority.name) !== 0));
  };
  return {
    listedOrigins: origins,
    host(value) {
      if (value === undefined) return false;
      return hostVerdicts.get(value) ?? remember(hostVerdicts, value, host(value));
    },
    trustedOrigin(value, requestHost) {
      const normal = normalOrigin(value);
      if (normal === undefined) return false;
      if (origins.has(normal)) return true;
      const { protocol } = new URL(normal);
      return requestHost !== undefined && normalOrigin(`${protocol}//${requestHost}`) === normal;
    },
    origin(value, requestHost) {
      const normal = normalOrigin(value);
      if (normal === undefined) return false;
      if (origins.has(normal)) return true;
      const authority = parseAuthority(normal.slice(normal.indexOf('//') + 2));
      if (!authority) return false;
      if (named(authority)) return true;
      return wildcard && isIP(authority.name) !== 0 && parseAuthority(requestHost ?? '')?.name === authority.name;
    },
  };
}

function parseAuthority(value: string): Authority | undefined {
  const match = authorityPattern.exec(value);
  const name = match?.[1] ?? match?.[2];
  return name === undefined ? undefined : { name: name.toLowerCase(), port: match?.[3] ?? '' };
}

/** `scheme://host[:port]` in lower case without a default port; undefined for anything else, such as `null`. */
function normalOrigin(value: string): string | undefined {
  if (!/^https?:\/\/[^/?#\s\\@]+$/i.test(value) || !URL.canParse(value)) return undefined;
  return new URL(value).origin;
}

function remember(verdicts: Map<string, boolean>, value: string, verdict: boolean): boolean {
  if (verdicts.size >= rememberedVerdicts) verdicts.clear();
  verdicts.set(value, verdict);
  return verdict;
}
