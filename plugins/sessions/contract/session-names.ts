import { isUnstorableText } from 'mortise/sdk';

/** Longest names of a session, in code points. */
export const sessionNameLimits = { channel: 64, userId: 128, sessionId: 256 } as const;

/** The form of a channel's name. */
export const channelNamePattern = /^[a-z0-9][a-z0-9_-]{0,63}$/;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const controlCharacters = /[\u0000-\u001f\u007f]/;

export type NameProblem = 'too_long' | 'control_characters' | 'lone_surrogates';

/**
 * Why a text cannot be part of a session's name; undefined when it can. Lone surrogates are refused because a database
 * would store another name, the same one for many.
 *
 * @param limit code points.
 */
export function nameProblem(text: string, limit: number): NameProblem | undefined {
  if (isLonger(text, limit)) return 'too_long';
  if (controlCharacters.test(text)) return 'control_characters';
  return isUnstorableText(text) ? 'lone_surrogates' : undefined;
}

/** The rule that a name violates, for an error message of the HTTP API; undefined when it is valid. */
export function violatedNameRule(text: string, limit: number): string | undefined {
  const problem = nameProblem(text, limit);
  if (!problem) return undefined;
  return problem === 'lone_surrogates'
    ? 'must not have lone surrogates'
    : `must have at most ${limit} characters and no control characters`;
}

/** Whether a text has more than `limit` code points; they are counted only if the length does not decide. */
export function isLonger(text: string, limit: number): boolean {
  if (text.length <= limit) return false;
  if (text.length > limit * 2) return true;
  let points = 0;
  for (const _ of text) points += 1;
  return points > limit;
}
