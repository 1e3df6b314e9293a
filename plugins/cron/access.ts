import { boundUser, type Principal } from 'mortise/sdk';
import type { CronJobSpec } from './contract/index.js';
import { cronError } from './errors.js';

/** A key that is bound to a user sees the jobs that work for this user, and no others. */
export function maySee(principal: Principal, userId: string): boolean {
  const bound = boundUser(principal);
  return bound === undefined || bound === userId;
}

/** @throws MortiseError `actor_mismatch` when a bound key names another user's session */
export function checkTarget(principal: Principal, { dispatch }: CronJobSpec): void {
  if (!maySee(principal, dispatch.target.user_id)) throw cronError('actor_mismatch');
}
