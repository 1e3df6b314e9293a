import { isJsonObject, type ObservationInput, type ObservationType } from 'mortise/sdk';
import { frozenCopy } from './frozen-copy.js';
import { isText, type ReportProblem } from './read-members.js';

type Payload = Readonly<Record<string, unknown>>;
type Kind = 'text' | 'texts' | 'number' | 'object' | 'attachments' | 'severity';

const severities = ['low', 'medium', 'high', 'critical'];
const attachmentKinds = ['image', 'file', 'audio', 'video', 'unknown'];
const attachmentLimit = 32;

/** The required, non-blank name of each type, and the kinds of its optional members. */
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

/** A frozen copy of the payload, checked against its type. */
export function checkPayload(type: ObservationType, value: unknown, report: ReportProblem): Payload {
  if (!isJsonObject(value)) {
    report('payload', 'payload_mismatch', 'payload must be an object');
    return Object.freeze({});
  }
  const { name, members } = shapes[type];
  const other = otherShape(type, value);
  if (other !== undefined) {
    report('payload', 'payload_mismatch', `the payload has the shape of type ${other}, not of type ${type}`);
  } else if (name !== undefined) checkName(name, value[name], report);
  for (const member in members) {
    const given = value[member];
    if (given !== undefined && given !== null) checkMember(member, given, members[member] ?? 'object', report);
  }
  return frozenCopy(type === 'alert' ? { ...value, severity: value.severity ?? 'medium' } : value);
}

function hasOne(value: Payload, members: object): boolean {
  for (const member in members) if (Object.hasOwn(value, member)) return true;
  return false;
}

/** Each type's names and the members that only messages have, which tell a payload's type. */
const marks = (Object.keys(shapes) as ObservationType[])
  .filter((type) => type !== 'system')
  .map((type) => ({ type, marks: [shapes[type].name ?? ['text', 'attachments', 'mentions', 'reply_to']].flat() }));

/** The type whose payload this is, when it has no member of its own type and members of another. */
function otherShape(type: ObservationType, value: Payload): ObservationType | undefined {
  const { name, members } = shapes[type];
  if (name === undefined ? hasOne(value, members) : Object.hasOwn(value, name)) return undefined;
  return marks.find((other) => other.marks.some((mark) => !(mark in members) && Object.hasOwn(value, mark)))?.type;
}

function checkName(name: string, value: unknown, report: ReportProblem): void {
  if (value === undefined) report(`payload.${name}`, 'required', `${name} is required`);
  else if (!isText(value)) report(`payload.${name}`, 'payload_mismatch', `${name} must be a text`);
  else if (value.trim() === '') report(`payload.${name}`, 'required', `${name} must not be blank`);
}

function checkMember(member: string, value: unknown, kind: Kind, report: ReportProblem): void {
  const path = `payload.${member}`;
  if (isOf(kind, value)) {
    if (kind === 'attachments') checkAttachments(value as readonly Payload[], report);
  } else report(path, kind === 'severity' ? 'enum' : 'payload_mismatch', `${member} must be ${nouns[kind]}`);
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
      return isJsonObject(value);
    case 'attachments':
      return Array.isArray(value) && value.every(isJsonObject);
    case 'severity':
      return severities.includes(value as string);
  }
}

function checkAttachments(attachments: readonly Payload[], report: ReportProblem): void {
  if (attachments.length > attachmentLimit) {
    report('payload.attachments', 'too_long', `there may be at most ${attachmentLimit} attachments`);
  }
  for (const [index, { kind }] of attachments.entries()) {
    if (kind === undefined || kind === null || attachmentKinds.includes(kind as string)) continue;
    const kinds = attachmentKinds.join(', ');
    report(`payload.attachments.${index}.kind`, 'enum', `the kind of an attachment must be one of: ${kinds}`);
  }
}

/** Code points of a text from outside; the rest is cut off and the observation flagged. */
const textLimit = 200_000;

/** The payload with its text cut to the limit, and the flag `TRUNCATED` when something was cut. */
export function cutText(payload: ObservationInput['payload']): Pick<ObservationInput, 'payload' | 'quality_flags'> {
  const { text } = payload;
  if (typeof text !== 'string' || text.length <= textLimit) return { payload };
  const points = [...text];
  if (points.length <= textLimit) return { payload };
  return { payload: { ...payload, text: points.slice(0, textLimit).join('') }, quality_flags: ['TRUNCATED'] };
}
