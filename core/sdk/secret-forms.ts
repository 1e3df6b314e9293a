/**
 * Forms of secrets that providers document, so that a text that quotes one can be cleaned without knowing its value.
 *
 * A linter's rule set (secretlint, gitleaks) is no substitute: those rules run asynchronously over files, and some take
 * time that grows with the square of a line. This list is applied to every error, log line and audit row. Each form is
 * linear in the length of the text: it begins with a fixed prefix, and what follows is one character class or is counted.
 */

/** A text that begins a token, and what follows it. Both are the sources of regular expressions. */
type TokenForm = readonly [prefix: string, rest: string];

const word = 'A-Za-z0-9';
const url = `${word}_-`;
const dotted = `${word}_.-`;

const tokens: readonly TokenForm[] = [
  // Models and search
  ['sk-(?:proj|svcacct|admin|ant|or|lf|None)-', `[${url}]{16,}`],
  ['[spr]k[-_]', `(?:[${word}]{1,32}[-_]){0,6}[${word}]{16,}`],
  ['gsk_', `[${word}]{16,}`],
  ['xai-', `[${word}]{20,}`],
  ['pplx-', `[${word}]{20,}`],
  ['hf_', `[${word}]{16,}`],
  ['api_org_', `[${word}]{16,}`],
  ['r8_', `[${word}]{20,}`],
  ['tgp_v1_', `[${url}]{16,}`],
  ['nvapi-', `[${url}]{20,}`],
  ['pcsk_', `[${url}]{20,}`],
  ['lsv2_(?:pt|sk)_', `[${word}_]{16,}`],
  ['tvly-', `[${url}]{11,}`],
  ['fc-', '[0-9a-f]{32}'],
  // Source code, packages, builds
  ['gh[pousr]_', `[${word}]{16,}`],
  ['github_pat_', `[${word}_]{16,}`],
  ['gl(?:pat|ptt|dt|rt|rtr|cbt|ft|imt|agent|oas|soat|ffct|wt)-', `[${dotted}]{16,}`],
  ['GR1348941', `[${url}]{16,}`],
  ['npm_', `[${word}]{20,}`],
  ['pypi-', `[${url}]{32,}`],
  ['rubygems_', '[0-9a-f]{32,}'],
  ['CLOJARS_', '[0-9a-z]{40,}'],
  ['dckr_(?:pat|oat)_', `[${url}]{16,}`],
  ['bku[ait]_', `[${word}]{20,}`],
  ['CCIPAT_', `[${word}_]{20,}`],
  ['AKCp', `[${word}]{40,}`],
  ['ATATT3|ATCTT3|ATBB', `[${word}_=-]{20,}`],
  ['BBDC-', `[${word}/+@_-]{20,}`],
  // Clouds and hosting
  ['AKIA|ASIA|ABIA|ACCA', '[A-Z0-9]{16}'],
  ['ABSK', `[${word}+/]{60,}={0,2}`],
  ['AIza', `[${url}]{30,}`],
  ['ya29\\.', `[${dotted}]{16,}`],
  ['GOCSPX-', `[${url}]{16,}`],
  ['1//0', `[${url}]{30,}`],
  ['do[opr]_v1_', '[0-9a-f]{32,}'],
  ['LTAI', `[${word}]{16,26}`],
  ['AKID', `[${word}]{32}`],
  ['HRKU-', `[${url}]{20,}`],
  ['nf[pco]_', `[${word}]{32,}`],
  ['vc[pkair]_', `[${word}]{20,}`],
  ['fm[12]_|fo1_', `[${word}+/_-]{20,}={0,3}`],
  ['sbp_', '[0-9a-f]{32,}'],
  ['sb_secret_', `[${url}]{16,}`],
  ['napi_', `[${word}]{32,}`],
  ['pscale_(?:tkn|pw|oauth)_', `[${dotted}]{16,}`],
  ['dapi', '[0-9a-f]{32}(?:-\\d)?'],
  ['pul-', '[0-9a-f]{32,}'],
  ['hv[sbr]\\.', `[${url}]{16,}`],
  ['dp\\.(?:pt|st|ct|sa|scim|audit)\\.', `[${dotted}]{16,}`],
  ['ops_eyJ', `[${word}+/_-]{40,}={0,3}`],
  ['tskey-', `[${url}]{16,}`],
  ['AGE-SECRET-KEY-1', '[0-9A-Z]{40,}'],
  // Observability
  ['glsa_|glc_', `[${word}+/_]{20,}={0,2}`],
  ['NRAK-|NRJS-|NRII-', `[${url}]{16,}`],
  ['sntry[su]_', `[${word}+/_-]{20,}={0,3}`],
  ['dt0c01\\.', `[${dotted}]{20,}`],
  ['ph[cx]_', `[${word}]{30,}`],
  // Messages and mail
  ['xox[abeoprs]-|xapp-|xwfp-', `[${word}-]{12,}`],
  ['SG\\.', `[${url}]{16,}\\.[${url}]{16,}`],
  ['xkeysib-|xsmtpsib-', `[${word}-]{20,}`],
  ['re_', `[${word}]{8,10}_[${word}]{16,}`],
  ['SK', '[0-9a-f]{32}'],
  ['\\d{8,10}:AA', `[${url}]{32,34}`],
  ['[MNO][A-Za-z0-9_-]{23,27}\\.[A-Za-z0-9_-]{6}\\.', `[${url}]{27,}`],
  ['https://hooks\\.slack\\.com/(?:services|workflows|triggers)/', `[${word}/]{20,}`],
  ['https://(?:canary\\.|ptb\\.)?discord(?:app)?\\.com/api/webhooks/\\d{5,25}/', `[${url}]{20,}`],
  // Payment and shops
  ['whsec_', `[${word}+/]{20,}={0,2}`],
  ['sq0(?:atp|csp|idp)-', `[${url}]{20,}`],
  ['EAAA', `[${url}]{56,}`],
  ['shp(?:at|ca|pa|ss)_', '[0-9a-fA-F]{32}'],
  ['shippo_(?:live|test)_', '[0-9a-f]{40}'],
  // Work
  ['lin_(?:api|oauth)_', `[${word}]{32,}`],
  ['ntn_', `[${word}]{40,}`],
  ['secret_', `[${word}]{43}`],
  [`pat[${word}]{14}\\.`, '[0-9a-f]{64}'],
  ['fig[dor]_', `[${url}]{20,}`],
  ['PMAK-', '[0-9a-f]{24}-[0-9a-f]{34}'],
  ['CFPAT-', `[${url}]{32,}`],
];

const redacted = '[REDACTED]';

const tokenForm = new RegExp(
  `(?<![${word}])(?:${tokens.map(([prefix, rest]) => `(?:${prefix})${rest}`).join('|')})|(?<![${url}])eyJ[${url}]{8,}\\.[${url}]{8,}\\.[${url}]*`,
  'g',
);

/** No token is shorter or contains other characters. */
const minTokenLength = 16;
const tokenCharacters = characterTable(/[A-Za-z0-9_.:/+=-]/);

function characterTable(allowed: RegExp): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => (allowed.test(String.fromCharCode(code)) ? 1 : 0));
}

function isTokenCharacter(text: string, at: number): boolean {
  return tokenCharacters[text.charCodeAt(at)] === 1;
}

/**
 * Looks at every sixteenth character, and applies the forms to the runs found there: prose has none, which costs a tenth of
 * what the forms would take.
 */
function redactTokens(text: string): string {
  let clean = '';
  let done = 0;
  for (let at = minTokenLength - 1; at < text.length; at += minTokenLength) {
    if (!isTokenCharacter(text, at)) continue;
    let start = at;
    while (start > 0 && isTokenCharacter(text, start - 1)) start -= 1;
    while (isTokenCharacter(text, at)) at += 1;
    if (at - start < minTokenLength) continue;
    const run = text.slice(start, at);
    const without = run.replace(tokenForm, redacted);
    if (without === run) continue;
    clean += text.slice(done, start) + without;
    done = at;
  }
  return done === 0 ? text : clean + text.slice(done);
}

const names =
  'api[-_]?key|client[-_]?secret|access[-_]?token|refresh[-_]?token|auth[-_]?token|token|secret|password|passwd|passphrase|pwd';

/** Secrets recognized by their context, which is preserved (`$1`). */
const markedForms: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, redacted],
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/?#@]{0,128}):[^\s/?#@]{1,256}@/gi, `$1:${redacted}@`],
  // Schemes with several words of credentials.
  [
    /(authorization["']?\s{0,3}[=:]\s{0,3}["']?(?:Digest|OAuth|Hawk|Signature|AWS4-HMAC-SHA256)\s)[^\r\n]{1,2048}/gi,
    `$1${redacted}`,
  ],
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}/gi, `$1 ${redacted}`],
  // Any other credentials: a word that is long, or has a digit. Prose about the header has neither.
  [
    /(authorization["']?\s{0,3}[=:]\s{0,3}["']?(?:[a-z][a-z0-9-]{1,20}\s{1,3})?)(?:(?=[^\s"',;]{0,64}\d)[^\s"',;[\]]{8,}|[^\s"',;[\]]{20,})/gi,
    `$1${redacted}`,
  ],
  [
    new RegExp(`((?:${names})["']?\\s{0,3}[=:]\\s{0,3}["']?)(?!\\[REDACTED\\])[^\\s"'&,;)}\\]]{4,}`, 'gi'),
    `$1${redacted}`,
  ],
];

/** Matches a part of each marked form. Character classes, because matching without case takes twice the time. */
const mark =
  /:\/\/|-----BEGIN|[Bb]earer|BEARER|[Bb]asic|BASIC|[Kk][Ee][Yy]|[Ss][Ee][Cc][Rr][Ee][Tt]|[Tt][Oo][Kk][Ee][Nn]|[Pp][Aa][Ss][Ss]|[Pp][Ww][Dd]|[Aa][Uu][Tt][Hh][Oo][Rr][Ii][Zz]/;

/** Removes secrets that are recognised by their form: tokens, keys, credentials in addresses, `password=…`. */
export function redactForms(text: string): string {
  let clean = redactTokens(text);
  if (!mark.test(clean)) return clean;
  for (const [form, replacement] of markedForms) clean = clean.replace(form, replacement);
  return clean;
}
