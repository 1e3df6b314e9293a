import { decodeHeaderValue } from './header-value.js';
import { isObject, type JsonObject, member } from './json.js';
import { type Headers, headerNames } from './names.js';
import { mismatch } from './stateless-headers.js';

/** An argument that the tool's schema wants repeated in a header `Mcp-Param-<name>`. */
export interface ParameterHeader {
  readonly path: readonly string[];
  readonly name: string;
}

/** Finds `x-mcp-header` marks along `properties`, the only way a mark can be reached without interpreting the schema. */
export function parameterHeaders(schema: JsonObject, path: readonly string[] = []): readonly ParameterHeader[] {
  const properties = member(schema, 'properties');
  if (!isObject(properties) || path.length > 32) return [];
  return Object.entries(properties).flatMap(([key, child]) => {
    if (!isObject(child)) return [];
    const here = [...path, key];
    const name = member(child, 'x-mcp-header');
    const below = parameterHeaders(child, here);
    return typeof name === 'string' && name !== '' ? [{ path: here, name }, ...below] : below;
  });
}

/** @throws RpcFailure when a marked argument and its header do not say the same. */
export function checkParameterHeaders(marks: readonly ParameterHeader[], args: JsonObject, headers: Headers): void {
  for (const { path, name } of marks) {
    const label = `Mcp-Param-${name}`;
    const sent = headers[`${headerNames.parameterPrefix}${name.toLowerCase()}`];
    const value = valueAt(args, path);
    if (value === undefined || value === null) {
      if (sent !== undefined) throw mismatch(label, 'is present though the argument is not');
      continue;
    }
    if (sent === undefined) throw mismatch(label, 'is missing');
    const decoded = decodeHeaderValue(sent.trim());
    if (decoded === undefined || !says(decoded, value)) throw mismatch(label, 'differs from the argument');
  }
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path) {
    if (!isObject(value)) return undefined;
    value = member(value, key);
  }
  return value;
}

function says(text: string, value: unknown): boolean {
  if (typeof value === 'number') return /^-?\d+(\.\d+)?$/.test(text) && Number(text) === value;
  if (typeof value === 'boolean') return text === String(value);
  return text === value;
}
