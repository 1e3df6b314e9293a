import { MortiseError } from 'mortise/sdk';

/** The `limit` of a list under `/gate/`, 1 to 200; 20 when absent. @throws MortiseError `invalid_request` (400) */
export function readListLimit(text: string | null): number {
  if (text === null) return 20;
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= 200) return limit;
  throw new MortiseError('invalid_request', 'limit must be a whole number from 1 to 200.', { status: 400 });
}
