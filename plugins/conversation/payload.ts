import type { ObservationType } from 'mortise/sdk';
import { isObject, isText, type Problems } from './problems.js';

type Payload = Readonly<Record<string, unknown>>;
type Kind = 'text' | 'texts' | 'number' | 'object' | 'attachments' | 'severity';

const severities = ['low', 'medium', 'high', 'critical'];
const attachmentKinds = ['image', 'file', 'audio', 'video', 'unknown'];
const attachmentLimit = 32;

/** What each type must name, and be it a non-blank text; then what else it may hold, and of which kind that is. */
const shapes: Readonly<
  Record<ObservationType, { readonly name?: string; readonly members: Readonly<Record<string, Kind>> }>
> = {
  message: {
    members: { text: 'text', attachments: 'attachments', mentions: 'texts', reply_to: 'text', extra: 'object' },
  },
  system: {
    members: { text: 'text', attachments: 'attachments', mentions: 'texts', reply_to: 'text', extra: 'object' },
  },
  world_data: { name: 'schema_id', members: { validity_seconds: 'number', extra: 'object' } },
  alert: { name: 'alert_type', members: { severity: 'severity', message: 'text', data: 'object' } },
  control: { name: 'kind', members: { data: 'object' } },
  schedule: { name: 'schedule_id', members: { data: 'object' } },
};

const nouns: Readonly<Record<Kind, string>> = {
  text: 'a text',
  texts: 'a list of texts',
  number: 'a number, 0 or more',
  object: 'an object',
  attachments: 'a list of objects',
  severity: `one of: ${severities.join(', ')}`,
};

/** The payload as a copy of its own, checked against its type. */
export function checkPayload(type: ObservationType, value: unknown, problems: Problems): Payload {
  if (!isObject(value)) {
    problems('payload', 'payload_mismatch', 'payload must be an object');
    return {};
  }
  const { name, members } = shapes[type];
  if (name !== undefined) checkName(name, value[name], problems);
  for (const member in members) {
    const given = value[member];
    if (given !== undefined && given !== null) checkMember(member, given, members[member] ?? 'object', problems);
  }
  return type === 'alert' ? { ...value, severity: value.severity ?? 'medium' } : { ...value };
}

function checkName(name: string, value: unknown, problems: Problems): void {
  if (value === undefined) problems(`payload.${name}`, 'required', `${name} is required`);
  else if (!isText(value)) problems(`payload.${name}`, 'payload_mismatch', `${name} must be a text`);
  else if (value.trim() === '') problems(`payload.${name}`, 'required', `${name} must not be blank`);
}

function checkMember(member: string, value: unknown, kind: Kind, problems: Problems): void {
  const path = `payload.${member}`;
  if (isOf(kind, value)) {
    if (kind === 'attachments') checkAttachments(value as readonly Payload[], problems);
  } else problems(path, kind === 'severity' ? 'enum' : 'payload_mismatch', `${member} must be ${nouns[kind]}`);
}

function isOf(kind: Kind, value: unknown): boolean {
  switch (kind) {
    case 'text':
      return isText(value);
    case 'texts':
      return Array.isArray(value) && value.every(isText);
    case 'number':
      return typeof value === 'number' && value >= 0;
    case 'object':
      return isObject(value);
    case 'attachments':
      return Array.isArray(value) && value.every(isObject);
    case 'severity':
      return severities.includes(value as string);
  }
}

function checkAttachments(attachments: readonly Payload[], problems: Problems): void {
  if (attachments.length > attachmentLimit) {
    problems('payload.attachments', 'too_long', `there may be at most ${attachmentLimit} attachments`);
  }
  for (const [index, { kind }] of attachments.entries()) {
    if (kind === undefined || kind === null || attachmentKinds.includes(kind as string)) continue;
    const kinds = attachmentKinds.join(', ');
    problems(`payload.attachments.${index}.kind`, 'enum', `the kind of an attachment must be one of: ${kinds}`);
  }
}
