import { RpcFailure } from './failure.js';
import { isObject, type JsonObject, member } from './json.js';
import { tasksExtension } from './names.js';

/** Whether a client declared a capability, named by its path: `sampling`, `elicitation.url`. */
export function declares(capabilities: JsonObject, path: readonly string[]): boolean {
  let value: unknown = capabilities;
  for (const name of path) {
    if (!isObject(value)) return false;
    value = member(value, name);
  }
  return isObject(value) || value === true;
}

export function declaresTasks(capabilities: JsonObject): boolean {
  return declares(capabilities, ['extensions', tasksExtension]);
}

/** @throws RpcFailure naming what the client would have to declare. */
export function demand(capabilities: JsonObject, path: readonly string[]): void {
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

/** What a client must have declared before it is sent a request of its own. */
export function capabilityFor(request: JsonObject): readonly string[] {
  const params = member(request, 'params');
  const has = (name: string, value?: unknown) =>
    isObject(params) && (value === undefined ? member(params, name) !== undefined : member(params, name) === value);
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
