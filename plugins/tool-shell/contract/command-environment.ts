import { isSensitiveName } from 'mortise/sdk';

/** Settings of the platform. */
const ownNames = /^(?:MORTISE_|NEXTAI_|DATABASE_|TEST_DATABASE_|GOVERNANCE_)|^POSTGRES_DSN$/i;
/** Beyond the usual endings of secrets: a variable that only may hold one is left out as well. */
const secretWords =
  /password|passwd|secret|token|credential|apikey|_(?:pat|pwd|jwt|auth)$|^(?:jwt|auth)$|auth_config$/i;
/** An address with a password, such as that of a database. Commands need the proxy to reach anything. */
const addressWithPassword = /^[a-z][a-z0-9+.-]*:\/\/[^\s/@]*:[^\s/@]+@/i;
const proxyNames = /_proxy$/i;

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
    if (value === undefined || ownNames.test(name) || isSensitiveName(name) || secretWords.test(name)) return false;
    return proxyNames.test(name) || !addressWithPassword.test(value);
  });
  return { TERM: 'dumb', ...Object.fromEntries(kept), ...stored };
}
