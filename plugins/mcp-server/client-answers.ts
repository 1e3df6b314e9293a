import { RpcFailure } from './wire/failure.js';
import { isObject, type JsonObject, member } from './wire/json.js';

type Check = (value: unknown) => boolean;

let checks: Promise<Readonly<Record<string, Check>>> | undefined;

/** The official schemas are large and seldom needed: they are loaded with the first answer. */
function officialChecks(): Promise<Readonly<Record<string, Check>>> {
  checks ??= import('@modelcontextprotocol/core').then((official) => ({
    'elicitation/create': (value) => official.ElicitResultSchema.safeParse(value).success,
    'sampling/createMessage': (value) =>
      official.CreateMessageResultSchema.safeParse(value).success ||
      official.CreateMessageResultWithToolsSchema.safeParse(value).success,
    'roots/list': (value) => official.ListRootsResultSchema.safeParse(value).success,
  }));
  return checks;
}

/** What a client answered to a request of the server. @throws RpcFailure when it is no answer to that. */
export async function checkedAnswer(request: JsonObject, answer: unknown): Promise<JsonObject> {
  const check = (await officialChecks())[String(member(request, 'method'))];
  if (isObject(answer) && check?.(answer) === true) return answer;
  throw new RpcFailure('INVALID_PARAM_VALUE', 'The answer does not have the form that was asked for.', {
    details: { path: '/inputResponses', method: member(request, 'method') },
  });
}
