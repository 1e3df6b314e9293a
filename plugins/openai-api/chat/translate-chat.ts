import { invalidField, type ResolvedModel, type TranslatedRequest } from 'mortise/contracts/models';
import { describeValue, isJsonObject, type JsonObject } from 'mortise/sdk';
import {
  type OfferedTools,
  offerTools,
  outputLimit,
  readEffort,
  readFormat,
  readTool,
  requestOptions,
} from '../options.js';
import { refuseParameter } from '../request.js';
import { readChatMessages } from './read-messages.js';

const knownFields: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'functions',
  'function_call',
  'max_completion_tokens',
  'max_tokens',
  'temperature',
  'top_p',
  'stop',
  'reasoning_effort',
  'response_format',
  'stream',
  'stream_options',
  'user',
  'metadata',
  'n',
  'logprobs',
  'modalities',
  'safety_identifier',
]);

/** A chat completion in neutral form. @throws invalid_request, unsupported_parameter, provider_not_supported */
export function translateChat(body: JsonObject, model: ResolvedModel): TranslatedRequest {
  refuseUnsupported(body);
  const ignored = Object.keys(body).filter((name) => !knownFields.has(name));
  const { max_completion_tokens: limit, max_tokens: legacyLimit, response_format: format } = body;
  const isLegacy = limit === undefined || limit === null;
  const schema = isJsonObject(format) && isJsonObject(format.json_schema) ? format.json_schema : {};
  return {
    request: {
      ...requestOptions(model, body, readTools(body, model, ignored), ignored),
      messages: readChatMessages(body.messages, model.capabilities.attachments),
      ...outputLimit(isLegacy ? legacyLimit : limit, model, isLegacy ? 'max_tokens' : 'max_completion_tokens'),
      ...readStop(body.stop),
      ...readEffort(body.reasoning_effort, model, 'reasoning_effort', ignored),
      ...readFormat(isJsonObject(format) ? { ...schema, ...format } : undefined, 'response_format'),
    },
    ignored,
  };
}

function refuseUnsupported({ n, logprobs, audio, modalities, web_search_options: search }: JsonObject): void {
  if (typeof n === 'number' && n > 1) refuseParameter('n', 'n greater than 1');
  if (logprobs === true) refuseParameter('logprobs');
  if (isJsonObject(audio)) refuseParameter('audio', 'audio output');
  if (Array.isArray(modalities) && modalities.includes('audio')) refuseParameter('modalities', 'audio output');
  if (isJsonObject(search)) refuseParameter('web_search_options');
}

function readTools(body: JsonObject, { capabilities }: ResolvedModel, ignored: string[]): OfferedTools {
  const { tools, functions, tool_choice: choice, function_call: legacyChoice } = body;
  if (!capabilities.toolCall) {
    for (const name of ['tools', 'tool_choice', 'functions', 'function_call']) {
      if (body[name] !== undefined) ignored.push(name);
    }
    return { tools: [], choice: undefined };
  }
  if (tools === undefined && Array.isArray(functions)) {
    return offerTools(
      functions.map((one, index) => readTool(one, `functions.${index}`)),
      legacyChoice,
      ({ name }) => name,
    );
  }
  const own = (Array.isArray(tools) ? tools : []).flatMap((tool: unknown, index) => {
    if (!isJsonObject(tool)) throw invalidField(`tools.${index} must be an object`, `tools.${index}`);
    if (tool.type === 'function') return [readTool(tool.function, `tools.${index}.function`)];
    ignored.push(`tools.${describeValue(tool.type)}`);
    return [];
  });
  return offerTools(own, choice, (one) => (isJsonObject(one.function) ? one.function.name : undefined));
}

function readStop(stop: unknown): { stop?: readonly string[] } {
  const list = (Array.isArray(stop) ? stop : [stop]).filter((one) => typeof one === 'string').slice(0, 4);
  return list.length === 0 ? {} : { stop: list };
}
