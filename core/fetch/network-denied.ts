import { MortiseError } from '../sdk/index.js';

/** The refusal of an outbound request; it names the host alone, since paths and queries may hold secrets. */
export function networkDenied(host: string, why: string, hint?: string): MortiseError {
  return new MortiseError('network_denied', `The host ${host} may not be reached: ${why}.`, {
    status: 403,
    details: { host },
    ...(hint !== undefined && { hint }),
  });
}
