import type { GovernancePatch } from 'mortise/contracts/logbook';
import { isUnstorableJson, type Principal } from 'mortise/sdk';
import { argumentError, refuseLostNumbers } from '../argument-error.js';
import { checkActor } from '../store/store-arguments.js';

/** One request to change the policy, read. */
export interface UpdateRequest {
  readonly patch: GovernancePatch;
  readonly adminKey: string | null;
  /** The actor that the caller names. */
  readonly claimedActor: string | null;
  /** The claimed actor, else the one that the caller's key is bound to. */
  readonly actorUserId: string | null;
  readonly principal: Principal;
  readonly correlationId: string;
}

export const TOOL = 'governance_update';
const LARGEST_POLICY_BYTES = 65_536;

type Json = Readonly<Record<string, unknown>>;

/** Reads arguments that passed the tool's schema. Absent, null and an empty text are the same. */
export function readUpdateRequest(
  args: Json,
  { principal, correlationId }: { readonly principal: Principal; readonly correlationId: string },
): UpdateRequest {
  const claimedActor = checkActor(TOOL, (args.actor_user_id as string | null | undefined) || null);
  return {
    patch: {
      teamWriteEnabled: (args.team_write_enabled as boolean | null | undefined) ?? undefined,
      policy: (args.policy_json as Json | null | undefined) ?? undefined,
    },
    adminKey: (args.admin_key as string | null | undefined) || null,
    claimedActor,
    actorUserId: claimedActor ?? principal.actor ?? null,
    principal,
    correlationId,
  };
}

/** What a database could not keep. @throws MortiseError `INVALID_PARAM_VALUE` (422). */
export function checkPolicyText(policy: Json): void {
  const json = JSON.stringify(policy);
  if (Buffer.byteLength(json) > LARGEST_POLICY_BYTES) {
    throw argumentError(TOOL, '/policy_json', `must have at most ${LARGEST_POLICY_BYTES} bytes of JSON`);
  }
  if (isUnstorableJson(json)) throw argumentError(TOOL, '/policy_json', 'must not hold NUL or lone surrogates');
  refuseLostNumbers(TOOL, 'policy_json', policy);
}
