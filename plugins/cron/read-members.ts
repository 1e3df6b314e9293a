import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { cronError } from './errors.js';

// A known member of another type makes the whole body invalid; null counts as absent.

function wrongType(member: string, type: string) {
  return cronError('invalid_json', { hint: `${member} must be ${type}.`, details: { member } });
}

export function readText(object: JsonObject, member: string): string {
  const value = object[member] ?? '';
  if (typeof value !== 'string') throw wrongType(member, 'a text');
  return value;
}

export function readNumber(object: JsonObject, member: string): number {
  const value = object[member] ?? 0;
  if (typeof value !== 'number' || !Number.isFinite(value)) throw wrongType(member, 'a number');
  return value;
}

export function readInteger(object: JsonObject, member: string): number {
  const value = readNumber(object, member);
  if (!Number.isSafeInteger(value)) throw wrongType(member, 'a whole number');
  return value;
}

export function readFlag(object: JsonObject, member: string): boolean {
  const value = object[member] ?? false;
  if (typeof value !== 'boolean') throw wrongType(member, 'true or false');
  return value;
}

export function readObject(object: JsonObject, member: string): JsonObject | undefined {
  const value = object[member] ?? undefined;
  if (value !== undefined && !isJsonObject(value)) throw wrongType(member, 'an object');
  return value;
}

export function readObjects(object: JsonObject, member: string): readonly JsonObject[] {
  const value = object[member] ?? [];
  if (!Array.isArray(value) || !value.every(isJsonObject)) throw wrongType(member, 'a list of objects');
  return value;
}
