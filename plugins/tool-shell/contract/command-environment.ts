import { isSensitiveName } from 'mortise/sdk';

/** Settings of the platform. */
const ownNames = /^(?:MORTISE_|NEXTAI_|DATABASE_|TEST_DATABASE_|GOVERNANCE_)|^POSTGRES_DSN$/i;
/** Beyond the usual endings of secrets: a variable that only may hold one is left out as well. */
const secretWords = /password|passwd|secret|token|credential|apikey/i;

/**
 * The environment of a command: that of the process without its settings and secrets, and the variables that users stored.
 *
 * @param stored takes precedence
 */
export function commandEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  stored: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const kept = Object.entries(own).filter((entry): entry is [string, string] => {
    const [name, value] = entry;
    return value !== undefined && !ownNames.test(name) && !isSensitiveName(name) && !secretWords.test(name);
  });
  return { TERM: 'dumb', ...Object.fromEntries(kept), ...stored };
}
