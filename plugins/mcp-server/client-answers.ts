import { isJsonObject, type JsonObject } from 'mortise/sdk';
import { RpcFailure } from './wire/failure.js';
import { member } from './wire/params.js';

/** A question's own `key`, else its position in the run, which is the same in every round. */
export function keyed(question: JsonObject, position: number): { readonly key: string; readonly request: JsonObject } {
  const key = member(question, 'key');
  const { method, params } = question;
  const request = isJsonObject(params) ? { method, params } : { method };
  return { key: typeof key === 'string' && key !== '' ? key : `input-${position}`, request };
}

/** The client's answer to a request of the server. @throws RpcFailure when the answer does not match the request. */
export async function checkedAnswer(request: JsonObject, answer: unknown): Promise<JsonObject> {
  const check = (await officialChecks())[String(member(request, 'method'))];
  if (isJsonObject(answer) && check?.(answer) === true) return answer;
  throw new RpcFailure('INVALID_PARAM_VALUE', 'The answer does not have the requested form.', {
    details: { path: '/inputResponses', method: member(request, 'method') },
  });
}

type Check = (value: unknown) => boolean;

let checks: Promise<Readonly<Record<string, Check>>> | undefined;

/** The official schemas are large and rarely needed, so they are loaded with the first answer. */
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
