import { type LookupAddress, lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPublicAddress } from './address-rule.js';
import { networkDenied } from './network-denied.js';

/** Finds all addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** The system's own resolution, as any other program sees it. */
export const resolveBySystem: Resolve = (hostname) =>
  new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });

/**
 * A lookup for connections to addresses that somebody else named. The connection is made to the very addresses that were
 * checked, so a name cannot change its mind in between; one bad address among them condemns the name.
 */
export function createPinnedLookup(resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (!first || addresses.some(({ address }) => !isPublicAddress(address))) {
          callback(networkDenied(hostname, 'it does not lie on the public internet'), '', 0);
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
