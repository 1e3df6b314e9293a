import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { RpcFailure } from './failure.js';
import { metaOf, type RpcRequest } from './message.js';
import { member } from './params.js';
import { type Headers, header, headerNames, metaNames, statelessVersion, supportedVersions } from './protocol.js';

/** The parameter that the header `Mcp-Name` repeats, by method. */
const namedBy: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/**
 * Checks what every request of the stateless revision must state about itself. The order of the checks decides which
 * refusal a request with several faults gets.
 * @throws RpcFailure
 */
export function checkStatelessRequest(request: RpcRequest, headers: Headers): void {
  if (typeof request.id !== 'string' && !Number.isInteger(request.id)) {
    throw new RpcFailure('INVALID_REQUEST', 'Member "id" must be a string or an integer.');
  }
  const version = header(headers, headerNames.version);
  if (version === undefined) throw mismatch('MCP-Protocol-Version', 'is missing');
  if (version !== versionInMeta(request.params)) {
    throw mismatch('MCP-Protocol-Version', 'differs from the version in _meta');
  }
  if (version !== statelessVersion) {
    throw new RpcFailure('UNSUPPORTED_PROTOCOL_VERSION', 'This protocol version is not supported.', {
      data: { supported: supportedVersions, requested: version },
    });
  }
  const method = header(headers, headerNames.method);
  if (method === undefined) throw mismatch('Mcp-Method', 'is missing');
  if (method !== request.method) throw mismatch('Mcp-Method', 'differs from the method of the body');
  checkName(request, headers);
}

function versionInMeta(params: JsonObject): unknown {
  const meta = metaOf(params);
  const version = member(meta, metaNames.protocolVersion);
  const missing: string[] = [];
  if (typeof version !== 'string') missing.push(metaNames.protocolVersion);
  if (!isJsonObject(member(meta, metaNames.clientCapabilities))) missing.push(metaNames.clientCapabilities);
  if (missing.length === 0) return version;
  throw new RpcFailure('MISSING_REQUIRED_PARAM', `params._meta lacks ${missing.join(' and ')}.`, {
    status: 400,
    details: { missing },
  });
}

function checkName(request: RpcRequest, headers: Headers): void {
  const source = namedBy.get(request.method);
  if (source === undefined) return;
  const expected = member(request.params, source);
  // The method refuses a body without the parameter, and names it.
  if (typeof expected !== 'string') return;
  const sent = header(headers, headerNames.name);
  if (sent === undefined) throw mismatch('Mcp-Name', 'is missing');
  if (decodeHeaderValue(sent) !== expected) throw mismatch('Mcp-Name', `differs from params.${source}`);
}

/** An argument that the tool's schema requires to be repeated in a header `Mcp-Param-<name>`. */
export interface ParameterHeader {
  readonly path: readonly string[];
  readonly name: string;
}

/** Finds `x-mcp-header` marks along `properties`; marks elsewhere would need the schema to be interpreted. */
export function parameterHeaders(schema: JsonObject, path: readonly string[] = []): readonly ParameterHeader[] {
  const properties = member(schema, 'properties');
  if (!isJsonObject(properties) || path.length > 32) return [];
  return Object.entries(properties).flatMap(([key, child]) => {
    if (!isJsonObject(child)) return [];
    const here = [...path, key];
    const name = member(child, 'x-mcp-header');
    const below = parameterHeaders(child, here);
    return typeof name === 'string' && name !== '' ? [{ path: here, name }, ...below] : below;
  });
}

/** @throws RpcFailure when a marked argument and its header differ. */
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
    if (decoded === undefined || !spells(decoded, value)) throw mismatch(label, 'differs from the argument');
  }
}

function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path) {
    if (!isJsonObject(value)) return undefined;
    value = member(value, key);
  }
  return value;
}

function spells(text: string, value: unknown): boolean {
  if (typeof value === 'number') return /^-?\d+(\.\d+)?$/.test(text) && Number(text) === value;
  if (typeof value === 'boolean') return text === String(value);
  return text === value;
}

const encodedValue = /^=\?base64\?(.*)\?=$/s;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes `=?base64?…?=`, the form for UTF-8 that a header cannot contain. Undefined for invalid base64 or UTF-8. */
function decodeHeaderValue(value: string): string | undefined {
  const encoded = encodedValue.exec(value)?.[1];
  if (encoded === undefined) return value;
  if (!base64.test(encoded)) return undefined;
  try {
    return decoder.decode(Buffer.from(encoded, 'base64'));
  } catch {
    return undefined;
  }
}

function mismatch(name: string, problem: string): RpcFailure {
  return new RpcFailure('HEADER_MISMATCH', `Header ${name} ${problem}.`, { details: { header: name } });
}
