import { invalidArguments, type ToolError } from './tool-errors.js';

export type ToolArguments =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  /** `shown` stands in the event for the input that could not be read. */
  | { readonly ok: false; readonly error: ToolError; readonly shown: Readonly<Record<string, unknown>> };

/** The arguments as the model wrote them, which must be a JSON object; nothing at all is an empty one. */
export function readArguments(text: string): ToolArguments {
  if (text.trim() === '') return { ok: true, value: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return refused(text, `Invalid JSON arguments: ${error instanceof SyntaxError ? error.name : 'unreadable'}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return { ok: true, value: value as Record<string, unknown> };
  }
  return refused(text, `Expected dict arguments, got ${typeName(value)}`);
}

function refused(text: string, message: string): ToolArguments {
  const raw = [...text.slice(0, 640)].slice(0, 320).join('');
  return {
    ok: false,
    error: invalidArguments(message, `raw_arguments=${raw}`),
    shown: { raw_arguments: raw, parse_error: message },
  };
}

/** The names that models know from the language most of them were trained to call tools in. */
function typeName(value: unknown): string {
  if (value === null) return 'NoneType';
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float';
  return 'str';
}
