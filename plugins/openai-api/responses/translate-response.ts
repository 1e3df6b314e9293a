import { invalidField, type ResolvedModel, type TranslatedRequest } from 'mortise/contracts/models';
import { describeValue, isJsonObject, type JsonObject } from 'mortise/sdk';
import {
  ignoreOthers,
  type OfferedTools,
  offerTools,
  outputLimit,
  readEffort,
  readFormat,
  readTool,
  requestOptions,
} from '../options.js';
import { refuseParameter } from '../request.js';
import { readInput } from './read-input.js';

const knownFields: ReadonlySet<string> = new Set([
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'max_output_tokens',
  'temperature',
  'top_p',
  'reasoning',
  'text',
  'stream',
  'store',
  'user',
  'metadata',
  'safety_identifier',
  'previous_response_id',
  'conversation',
  'background',
  'prompt',
]);

/** A response request in neutral form. @throws invalid_request, unsupported_parameter, provider_not_supported */
export function translateResponse(body: JsonObject, model: ResolvedModel): TranslatedRequest {
  refuseStored(body);
  const ignored = Object.keys(body).filter((name) => !knownFields.has(name));
  const { reasoning, text } = body;
  ignoreOthers('reasoning', reasoning, 'effort', ignored);
  ignoreOthers('text', text, 'format', ignored);
  const effort = isJsonObject(reasoning) ? reasoning.effort : undefined;
  return {
    request: {
      ...requestOptions(model, body, readTools(body, model, ignored), ignored),
      messages: readInput(body, model.capabilities.attachments, ignored),
      ...outputLimit(body.max_output_tokens, model, 'max_output_tokens'),
      ...readEffort(effort, model, 'reasoning.effort', ignored),
      ...readFormat(isJsonObject(text) ? text.format : undefined, 'text.format'),
    },
    ignored: [...new Set(ignored)],
  };
}

/** Refuses references to stored data: nothing is stored, and an answer that ignores them would be wrong. */
function refuseStored(body: JsonObject): void {
  for (const name of ['previous_response_id', 'conversation', 'background', 'prompt']) {
    if (body[name] !== undefined && body[name] !== null && body[name] !== false) refuseParameter(name);
  }
  for (const [index, item] of (Array.isArray(body.input) ? body.input : []).entries()) {
    if (isJsonObject(item) && item.type === 'item_reference') refuseParameter(`input.${index}`, 'item_reference');
  }
}

function readTools(body: JsonObject, { capabilities }: ResolvedModel, ignored: string[]): OfferedTools {
  const { tools, tool_choice: choice } = body;
  if (!capabilities.toolCall) {
    for (const name of ['tools', 'tool_choice']) if (body[name] !== undefined) ignored.push(name);
    return { tools: [], choice: undefined };
  }
  const own = (Array.isArray(tools) ? tools : []).flatMap((tool: unknown, index) => {
    if (!isJsonObject(tool)) throw invalidField(`tools.${index} must be an object`, `tools.${index}`);
    if (tool.type === 'function') return [readTool(tool, `tools.${index}`)];
    ignored.push(`tools.${describeValue(tool.type)}`);
    return [];
  });
  return offerTools(own, choice, ({ name }) => name);
}
