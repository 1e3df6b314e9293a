import { RpcFailure } from './failure.js';
import { decodeHeaderValue } from './header-value.js';
import { isObject, type JsonObject, member } from './json.js';
import type { RpcRequest } from './message.js';
import { type Headers, header, headerNames, metaNames } from './names.js';
import { statelessVersion, supportedVersions } from './versions.js';

/** The parameter that the header `Mcp-Name` repeats, by method. */
const namedBy: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/**
 * What every request of the stateless revision must say about itself, checked in the order that decides which refusal
 * a request with several faults gets.
 * @throws RpcFailure
 */
export function checkStatelessRequest(request: RpcRequest, headers: Headers): void {
  if (typeof request.id !== 'string' && !Number.isInteger(request.id)) {
    throw new RpcFailure('INVALID_REQUEST', 'Member "id" must be a string or an integer.');
  }
  const version = header(headers, headerNames.version);
  if (version === undefined) throw mismatch('MCP-Protocol-Version', 'is missing');
  const meta = requiredMeta(request.params);
  const metaVersion = meta[metaNames.protocolVersion];
  if (version !== metaVersion) throw mismatch('MCP-Protocol-Version', 'differs from the version in _meta');
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

function requiredMeta(params: JsonObject): JsonObject {
  const meta = member(params, '_meta');
  const missing: string[] = [];
  const given = isObject(meta) ? meta : {};
  if (typeof member(given, metaNames.protocolVersion) !== 'string') missing.push(metaNames.protocolVersion);
  if (!isObject(member(given, metaNames.clientCapabilities))) missing.push(metaNames.clientCapabilities);
  if (missing.length > 0) {
    throw new RpcFailure('MISSING_REQUIRED_PARAM', `params._meta lacks ${missing.join(' and ')}.`, {
      status: 400,
      details: { missing },
    });
  }
  return given;
}

function checkName(request: RpcRequest, headers: Headers): void {
  const source = Object.hasOwn(namedBy, request.method) ? namedBy[request.method] : undefined;
  if (source === undefined) return;
  const expected = member(request.params, source);
  // A body without the parameter is refused by the method, which can name it.
  if (typeof expected !== 'string') return;
  const sent = header(headers, headerNames.name);
  if (sent === undefined) throw mismatch('Mcp-Name', 'is missing');
  if (decodeHeaderValue(sent) !== expected) throw mismatch('Mcp-Name', `differs from params.${source}`);
}

/** A header that is absent, unreadable, or says something else than the body. */
export function mismatch(name: string, problem: string): RpcFailure {
  return new RpcFailure('HEADER_MISMATCH', `Header ${name} ${problem}.`, { details: { header: name } });
}
