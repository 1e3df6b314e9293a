/**
 * Whether a host is covered by one of a manifest's patterns: `api.example.com`, `*.example.com` (what lies below it, not
 * the name itself) or `*`. Hosts are compared without case, without a final dot and without port.
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
