import { MortiseError, type RouteRequest } from 'mortise/sdk';

/** `limit` of a query, 1 to 200; 20 when absent. @throws MortiseError `invalid_request` (400) */
export function readLimit(query: RouteRequest['query']): number {
  const text = query.get('limit');
  if (text === null) return 20;
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= 200) return limit;
  throw new MortiseError('invalid_request', 'limit must be a whole number from 1 to 200.', { status: 400 });
}
