import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { RpcFailure } from './failure.js';
import { member } from './params.js';
import { tasksExtension } from './protocol.js';

export const tasksCapability: readonly string[] = ['extensions', tasksExtension];

export function declaresTasks(capabilities: JsonObject | undefined): boolean {
  return declares(capabilities, tasksCapability);
}

/** @param path such as `['elicitation', 'url']`. */
function declares(capabilities: JsonObject | undefined, path: readonly string[]): boolean {
  let value: unknown = capabilities;
  for (const name of path) {
    if (!isJsonObject(value)) return false;
    value = member(value, name);
  }
  return isJsonObject(value) || value === true;
}

/** @throws RpcFailure naming the capability that the client did not declare. */
export function requireCapability(capabilities: JsonObject | undefined, path: readonly string[]): void {
  if (!declares(capabilities, path)) throw missingCapability(path);
}

export function missingCapability(path: readonly string[]): RpcFailure {
  const requiredCapabilities = path.reduceRight<JsonObject>((inner, name) => ({ [name]: inner }), {});
  return new RpcFailure(
    'MISSING_CLIENT_CAPABILITY',
    `This request needs the client capability "${path.join('.')}", which the client did not declare.`,
    { data: { requiredCapabilities } },
  );
}

/** The capability a client must have declared before the server may send it this request. */
export function capabilityFor(request: JsonObject): readonly string[] {
  const params = member(request, 'params');
  const has = (name: string, value?: unknown) =>
    isJsonObject(params) && (value === undefined ? member(params, name) !== undefined : member(params, name) === value);
  switch (member(request, 'method')) {
    case 'elicitation/create':
      return has('mode', 'url') ? ['elicitation', 'url'] : ['elicitation'];
    case 'sampling/createMessage':
      return has('tools') ? ['sampling', 'tools'] : ['sampling'];
    case 'roots/list':
      return ['roots'];
    default:
      throw new TypeError('A client can be asked elicitation/create, sampling/createMessage and roots/list.');
  }
}
