import { isSensitiveName, maskSecret } from '../sdk/mask.js';
import { redactForms } from '../sdk/secret-forms.js';

const redacted = '[REDACTED]';

/** Names of parameters and flags that hold a secret, beside those that are sensitive everywhere. */
const shortNames = /^(?:key|token|auth|sig|signature|pass|pwd|credentials?)$/i;

const flag = /^--?([A-Za-z][\w-]*)$/;
const assignment = /((?:[?&]|^--?)([A-Za-z][\w.-]*)=)[^&#\s]+/g;

/** A segment of an address that was not written by hand: endpoints for one customer carry their key in the path. */
const keySegment = /(?<=\/)(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}(?=[/?#]|$)/g;

/**
 * The displayable form of a text in which secrets are recognised: a password or key of an address, the
 * value of a flag. It is the text itself where there is none.
 *
 * @param before the entry before it in a list, such as `--token`
 */
export function maskRecognised(text: string, before: unknown): string {
  const [, name] = typeof before === 'string' ? (flag.exec(before) ?? []) : [];
  if (name !== undefined && isSecretName(name)) return maskSecret(text);
  const clean = redactForms(text).replace(assignment, (whole, start: string, name: string) =>
    isSecretName(name) ? `${start}${redacted}` : whole,
  );
  return /^https?:\/\//.test(clean) ? clean.replace(keySegment, redacted) : clean;
}

function isSecretName(name: string): boolean {
  return shortNames.test(name) || isSensitiveName(name) || isSensitiveName(`-${name}`);
}
