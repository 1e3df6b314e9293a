import type { GateControl } from 'mortise/contracts/gate';
import { boundUser, type Principal } from 'mortise/sdk';
import { statelessError } from './errors.js';

/** Seconds after which a request that was stopped may be sent again. */
const retryAfterSeconds = 5;

/**
 * Refuses a request that the gate's stop switches stop: of a dropped user, in emergency mode or under overload.
 *
 * @param user the user that the request names
 * @throws drop_actor (403), emergency_mode or system_overload (529)
 */
export function refuseStopped(gate: GateControl | undefined, user: string | undefined, principal: Principal): void {
  if (!gate) return;
  const bound = boundUser(principal);
  const stopped = gate.stopped(user) ?? (bound === undefined ? undefined : gate.stopped(bound));
  if (stopped === undefined) return;
  throw statelessError(stopped, stopped === 'drop_actor' ? {} : { retryAfterSeconds });
}
