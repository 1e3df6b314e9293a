import { isUnstorableText, type ObservationActor } from 'mortise/sdk';
import { isObject, isText, oneOf, type Problems } from './problems.js';

const actorTypes = ['user', 'system', 'service', 'unknown'] as const;
/** Characters of a name or an id. */
const nameLength = 1_024;

/** Who said it, frozen; undefined when nobody is named. */
export function readActor(value: unknown, problems: Problems): ObservationActor | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) {
    problems('actor', 'payload_mismatch', 'actor must be an object');
    return undefined;
  }
  const actor: { -readonly [Member in keyof ObservationActor]: ObservationActor[Member] } = {
    actor_type: oneOf(value.actor_type ?? 'unknown', actorTypes, 'actor.actor_type', problems),
  };
  for (const member of ['actor_id', 'display_name', 'tenant_id'] as const) {
    const name = value[member];
    if (name === undefined || name === null || name === '') continue;
    if (!isText(name)) problems(`actor.${member}`, 'payload_mismatch', `${member} must be a text`);
    else if (name.length > nameLength) problems(`actor.${member}`, 'too_long', `${member} is too long`);
    else if (member !== 'display_name' && isUnstorableText(name)) {
      problems(`actor.${member}`, 'payload_mismatch', `${member} must not have NUL characters or lone surrogates`);
    } else actor[member] = name;
  }
  if (isObject(value.extra)) actor.extra = value.extra;
  return Object.freeze(actor);
}
