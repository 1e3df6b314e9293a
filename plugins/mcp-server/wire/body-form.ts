import { deeperThan, isObject, type JsonObject, member } from './json.js';

/** Arrays and objects nested deeper than this are refused. */
export const maxDepth = 100;

/** What the text of a `POST` holds, before anything is done with it. */
export type BodyForm =
  | { readonly form: 'unparsable'; readonly parseError: string }
  | { readonly form: 'too-deep' }
  | { readonly form: 'batch'; readonly messages: readonly unknown[] }
  | { readonly form: 'scalar' }
  | { readonly form: 'json-rpc'; readonly message: JsonObject; readonly text: string }
  | { readonly form: 'legacy'; readonly body: JsonObject }
  | { readonly form: 'unknown'; readonly why: string };

export function readBody(text: string): BodyForm {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const parseError = text.trim() === '' ? 'The body is empty.' : 'The body is not valid JSON.';
    return { form: 'unparsable', parseError };
  }
  // Fewer characters than brackets needed cannot be too deep: the usual small body is not walked.
  if (text.length > 2 * maxDepth && deeperThan(value, maxDepth)) return { form: 'too-deep' };
  if (Array.isArray(value)) return { form: 'batch', messages: value };
  if (!isObject(value)) return { form: 'scalar' };
  if (member(value, 'jsonrpc') === '2.0') return { form: 'json-rpc', message: value, text };
  if (Object.hasOwn(value, 'jsonrpc')) {
    return { form: 'unknown', why: 'member "jsonrpc" must be "2.0"' };
  }
  if (typeof member(value, 'tool') === 'string') return { form: 'legacy', body: value };
  if (Object.hasOwn(value, 'tool')) return { form: 'unknown', why: 'member "tool" must be a string' };
  return { form: 'unknown', why: 'neither "jsonrpc" nor "tool" is present' };
}
