import type { ObservationType } from 'mortise/sdk';
import { isObject, isText, type Problems } from './problems.js';

type Payload = Readonly<Record<string, unknown>>;

const severities = ['low', 'medium', 'high', 'critical'];

/** What the payload of each type must name, and must be a non-blank text. */
const requiredNames: Partial<Record<ObservationType, string>> = {
  world_data: 'schema_id',
  alert: 'alert_type',
  control: 'kind',
  schedule: 'schedule_id',
};

/** The payload as a copy of its own, checked against its type. */
export function checkPayload(type: ObservationType, value: unknown, problems: Problems): Payload {
  if (!isObject(value)) {
    problems('payload', 'payload_mismatch', 'payload must be an object');
    return {};
  }
  const name = requiredNames[type];
  if (name === undefined) checkMessage(value, problems);
  else if (!isText(value[name])) {
    const code = value[name] === undefined ? 'required' : 'payload_mismatch';
    problems(`payload.${name}`, code, `${name} is required`);
  } else if (value[name].trim() === '') problems(`payload.${name}`, 'required', `${name} must not be blank`);
  if (type !== 'alert') return { ...value };
  const severity = value.severity ?? 'medium';
  if (!isText(severity) || !severities.includes(severity)) {
    problems('payload.severity', 'enum', `severity must be one of: ${severities.join(', ')}`);
  }
  return { ...value, severity };
}

function checkMessage(payload: Payload, problems: Problems): void {
  const { text, attachments, mentions, extra } = payload;
  if (text !== undefined && !isText(text)) problems('payload.text', 'payload_mismatch', 'text must be a string');
  if (attachments !== undefined && !(Array.isArray(attachments) && attachments.every(isObject))) {
    problems('payload.attachments', 'payload_mismatch', 'attachments must be a list of objects');
  } else if (Array.isArray(attachments) && attachments.length > 32) {
    problems('payload.attachments', 'too_long', 'there may be at most 32 attachments');
  }
  if (mentions !== undefined && !Array.isArray(mentions)) {
    problems('payload.mentions', 'payload_mismatch', 'mentions must be a list');
  }
  if (extra !== undefined && !isObject(extra)) {
    problems('payload.extra', 'payload_mismatch', 'extra must be an object');
  }
}
