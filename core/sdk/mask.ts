const sensitiveNames = new Set([
  'api_key',
  'apikey',
  'client_secret',
  'secret',
  'password',
  'authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'x-admin-key',
]);

const sensitiveEnding = /[_-](?:key|token|secret)$|_password$/;

/**
 * Whether a member, header or variable of this name holds a secret: `api_key`, `password`, `authorization`, …, or an
 * ending in `_key`, `-key`, `_token`, `-token`, `_secret`, `-secret` or `_password`. Case does not matter; `apiKey` is
 * read as `api_key`.
 */
export function isSensitiveName(name: string): boolean {
  const lower = name.replace(/([a-z0-9])(?=[A-Z][a-z])/g, '$1_').toLowerCase();
  return sensitiveNames.has(lower) || sensitiveEnding.test(lower);
}

/** Masks a secret: `***`, or its first and last three characters when it has twelve or more. */
export function maskSecret(value: string): string {
  const points = [...value];
  return points.length < 12 ? '***' : `${points.slice(0, 3).join('')}***${points.slice(-3).join('')}`;
}

/** A copy of a JSON value in which members with a sensitive name are masked, and secrets inside texts are redacted. */
export function maskDeep(value: unknown): unknown {
  if (typeof value === 'string') return redactSecrets(value);
  if (Array.isArray(value)) return value.map(maskDeep);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isSensitiveName(name) && member !== null && member !== undefined ? maskMember(member) : maskDeep(member),
    ]),
  );
}

function maskMember(member: unknown): unknown {
  return typeof member === 'string' ? (member === '' ? '' : maskSecret(member)) : '***';
}

const redacted = '[REDACTED]';

/** Forms of secrets; the text before the secret is kept (`$1`). Each pattern is linear in the text's length: a token has one beginning, and its parts are counted. */
const secretForms: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, redacted],
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/?#@]{0,128}):[^\s/?#@]{1,256}@/gi, `$1:${redacted}@`],
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}/gi, `$1 ${redacted}`],
  [/(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g, redacted],
  [
    /\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]{1,32}[-_]){0,6}[A-Za-z0-9]{16,}\b|\bgh[pousr]_[A-Za-z0-9]{16,}\b|\bgithub_pat_[A-Za-z0-9_]{16,}\b/g,
    redacted,
  ],
  [
    /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bxox[abprs]-[A-Za-z0-9-]{8,}|\bAIza[A-Za-z0-9_-]{30,}|\btvly-[A-Za-z0-9-]{8,}/g,
    redacted,
  ],
  [
    /((?:api[-_]?key|client[-_]?secret|access[-_]?token|refresh[-_]?token|auth[-_]?token|token|secret|password|passwd|pwd)["']?\s{0,3}[=:]\s{0,3}["']?)(?!\[REDACTED\])[^\s"'&,;)}\]]{4,}/gi,
    `$1${redacted}`,
  ],
];

/** Matches a part of each form above; most texts match nothing and need one pass only. */
const hint =
  /:\/\/|-----|\b(?:bearer|basic)\s|eyJ|\b[spr]k[-_]|\bgh[pousr]_|github_pat_|AKIA|ASIA|xox|AIza|tvly-|key|secret|token|passw|pwd/i;

/** Removes secrets that are recognised by their form: tokens, keys, credentials in addresses, `password=…`. */
export function redactSecrets(text: string): string {
  if (!hint.test(text)) return text;
  let clean = text;
  for (const [form, replacement] of secretForms) clean = clean.replace(form, replacement);
  return clean;
}
