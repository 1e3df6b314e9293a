import { MortiseError, redactSecrets } from '../sdk/index.js';
import { isSensitiveName } from '../sdk/mask.js';
import { SecretValues } from '../sdk/secret-values.js';

type Clean = (text: string) => string;

const maxDepth = 6;
const maxMembers = 64;
const maxText = 2_000;

/** Members with text of people and models. They are never logged, at any level. */
const contentNames = new Set([
  'text',
  'content',
  'contents',
  'prompt',
  'prompts',
  'body',
  'raw_body',
  'payload',
  'payload_md',
  'arguments',
  'args',
  'input',
  'output',
  'messages',
  'parts',
  'delta',
  'reply',
  'transcript',
  'question',
  'answer',
  'query',
]);

/** Names that end like secret names but hold identifiers that logs are searched by. */
const identifierNames = /^(?:session|project|plugin|memory|idempotency|point|contribution|routing)[_-]?key$/i;

/** Cached results by name: log lines use few names repeatedly. */
const secretNames = new Map<string, boolean>();
const maxVerdicts = 1_000;
const maxNameLength = 64;

function isSecretName(name: string): boolean {
  let verdict = secretNames.get(name);
  if (verdict === undefined) {
    verdict = isSensitiveName(name) && !identifierNames.test(name);
    if (secretNames.size < maxVerdicts && name.length <= maxNameLength) secretNames.set(name, verdict);
  }
  return verdict;
}

function holdsSecret(name: string, value: unknown): boolean {
  if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean') return false;
  return isSecretName(name);
}

function holdsContent(name: string, value: unknown): boolean {
  return (
    contentNames.has(name.toLowerCase()) && (typeof value === 'string' || typeof value === 'object') && value !== null
  );
}

const maxFrames = 12;

function cut(text: string): string {
  return text.length <= maxText ? text : `${text.slice(0, maxText)}… (${text.length} characters)`;
}

/**
 * The fields of an error in a log line: type, code, location, and causes. Its message only when it is one of the
 * platform's own sentences, and never its details: they often quote user input.
 */
function errorFields(error: Error, clean: Clean, depth: number): Record<string, unknown> {
  const fields: Record<string, unknown> = { type: error.name };
  if (error instanceof MortiseError) fields.message = cut(clean(error.message));
  for (const name of ['code', 'status', 'syscall', 'signal'] as const) {
    const value: unknown = Reflect.get(error, name);
    if (typeof value === 'string') fields[name] = clean(value);
    else if (typeof value === 'number') fields[name] = value;
  }
  if (depth === 0) fields.frames = framesOf(error).map(clean);
  if (error.cause !== undefined) fields.cause = sanitizeValue(error.cause, clean, depth + 1);
  return fields;
}

/** The frames of a stack, without the message above them. */
function framesOf(error: Error): readonly string[] {
  return (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .slice(0, maxFrames)
    .map((line) => line.trim());
}

function sanitizeValue(value: unknown, clean: Clean, depth: number): unknown {
  switch (typeof value) {
    case 'string':
      return cut(clean(value));
    case 'bigint':
      return value.toString();
    case 'function':
    case 'symbol':
      return undefined;
    case 'object':
      break;
    default:
      return value;
  }
  if (value === null) return null;
  if (depth >= maxDepth) return '[…]';
  if (value instanceof Error) return errorFields(value, clean, depth);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof URL) return cut(clean(value.href));
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) {
    return value.slice(0, maxMembers).map((member) => sanitizeValue(member, clean, depth + 1));
  }
  if (value instanceof Map || value instanceof Set) return `[${value.size} entries]`;
  return sanitizeMembers(value, clean, depth + 1);
}

function sanitizeMembers(value: object, clean: Clean, depth: number): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  let count = 0;
  for (const [name, member] of Object.entries(value)) {
    count += 1;
    if (count > maxMembers) break;
    const shown = clean(name);
    if (holdsSecret(name, member)) result[shown] = '[REDACTED]';
    else if (holdsContent(name, member)) result[shown] = '[omitted]';
    else result[shown] = sanitizeValue(member, clean, depth);
  }
  return result;
}

/** A copy of a log line's fields that is safe to write: no secrets, no content, no cycles, bounded in size. */
export function sanitizeFields(fields: object, clean: Clean): Record<string, unknown> {
  if (fields instanceof Error) return { err: errorFields(fields, clean, 0) };
  return sanitizeMembers(fields, clean, 0);
}

const shortest = 6;

/** The values that no log line may contain, in any member or text. */
interface SecretFilter {
  hide(secret: string): void;
  clean(text: string): string;
  /** Increases when values are added: cached clean fields must then be cleaned again. */
  readonly revision: number;
}

export function createSecretFilter(): SecretFilter {
  let revision = 0;
  const values = new SecretValues();

  return {
    get revision() {
      return revision;
    },
    hide(secret) {
      if (secret.length < shortest || values.has(secret)) return;
      values.add(secret);
      revision += 1;
    },
    clean: (text) => (text.length < shortest ? text : redactSecrets(values.redact(text))),
  };
}
