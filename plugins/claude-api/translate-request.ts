import { invalidField, type ResolvedModel, type TranslatedRequest } from 'mortise/contracts/models';
import {
  type GenerateRequest,
  isJsonObject,
  type JsonObject,
  type ModelToolDefinition,
  type ReasoningEffort,
  type ResponseFormat,
  type ToolChoice,
} from 'mortise/sdk';
import { readMessages } from './read-messages.js';

const understood: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'system',
  'max_tokens',
  'temperature',
  'top_p',
  'stop_sequences',
  'stream',
  'tools',
  'tool_choice',
  'metadata',
]);

/** @throws invalid_request, or provider_not_supported for attachments that the model does not accept */
export function translateRequest(body: JsonObject, model: ResolvedModel): TranslatedRequest {
  const { capabilities, limits, settings, providerId } = model;
  const { max_tokens: maxTokens, stop_sequences: stop } = body;
  if (typeof maxTokens !== 'number' || !(maxTokens > 0)) {
    throw invalidField('max_tokens must be greater than 0', 'max_tokens');
  }
  const ignored = Object.keys(body).filter((name) => !understood.has(name));
  const messages = readMessages(body, capabilities.attachments);
  const { tools, choice, parallel } = capabilities.toolCall ? readTools(body, ignored) : noTools(body, ignored);
  const effort = capabilities.reasoning ? readEffort(body) : undefined;
  if (effort !== undefined) drop(ignored, 'thinking');
  const format = readFormat(body);
  if (format) drop(ignored, 'output_format');
  if (effort !== undefined || format) drop(ignored, 'output_config');
  for (const name of ['temperature', 'top_p']) {
    const value = body[name];
    if (value !== undefined && value !== null && typeof value !== 'number') ignored.push(name);
  }
  if (tools.length === 0 && isJsonObject(body.tool_choice) && !ignored.includes('tool_choice')) {
    ignored.push('tool_choice');
  }
  const stops = Array.isArray(stop) ? stop.filter((one) => typeof one === 'string').slice(0, 4) : [];
  const request: GenerateRequest = {
    model: model.model,
    providerId,
    settings,
    messages,
    stream: body.stream === true && capabilities.stream,
    maxOutputTokens: Math.min(Math.ceil(maxTokens), limits.output ?? Number.POSITIVE_INFINITY),
    ...(tools.length === 0 ? {} : { tools }),
    ...(choice === undefined || tools.length === 0 ? {} : { toolChoice: choice }),
    ...(parallel === undefined || tools.length === 0 ? {} : { parallelToolCalls: parallel }),
    ...(typeof body.temperature === 'number' ? { temperature: body.temperature } : {}),
    ...(typeof body.top_p === 'number' ? { topP: body.top_p } : {}),
    ...(stops.length === 0 ? {} : { stop: stops }),
    ...(effort === undefined ? {} : { reasoningEffort: effort }),
    ...(format === undefined ? {} : { responseFormat: format }),
  };
  return { request, ignored };
}

interface ReadTools {
  readonly tools: readonly ModelToolDefinition[];
  readonly choice?: ToolChoice | undefined;
  readonly parallel?: boolean | undefined;
}

function readTools({ tools, tool_choice: choice }: JsonObject, ignored: string[]): ReadTools {
  const own: ModelToolDefinition[] = [];
  for (const [index, tool] of (Array.isArray(tools) ? tools : []).entries()) {
    const path = `tools.${index}`;
    if (!isJsonObject(tool) || typeof tool.name !== 'string') throw invalidField(`${path}.name is required`, path);
    const { name, type, description, input_schema: schema } = tool;
    // A type other than custom is a tool that Anthropic's servers run.
    if (type !== undefined && type !== null && type !== 'custom') ignored.push(`tools.${name}`);
    else {
      own.push({
        name,
        description: typeof description === 'string' ? description : '',
        parameters: isJsonObject(schema) ? schema : { type: 'object' },
      });
    }
  }
  if (!isJsonObject(choice)) return { tools: own };
  const parallel = choice.disable_parallel_tool_use === true ? false : undefined;
  return { tools: own, choice: readChoice(choice), parallel };
}

function noTools({ tools, tool_choice: choice }: JsonObject, ignored: string[]): ReadTools {
  if (tools !== undefined) ignored.push('tools');
  if (choice !== undefined) ignored.push('tool_choice');
  return { tools: [] };
}

function readChoice({ type, name }: JsonObject): ToolChoice {
  if (type === 'auto' || type === 'none') return type;
  if (type === 'any') return 'required';
  if (type === 'tool' && typeof name === 'string') return { name };
  throw invalidField('tool_choice.type must be one of: auto, any, tool, none', 'tool_choice');
}

/** The effort for a thinking budget, or the named one. */
function readEffort({ thinking, output_config: output }: JsonObject): ReasoningEffort | undefined {
  if (isJsonObject(thinking) && typeof thinking.budget_tokens === 'number' && thinking.type !== 'disabled') {
    if (thinking.budget_tokens < 4_096) return 'low';
    return thinking.budget_tokens < 16_384 ? 'medium' : 'high';
  }
  if (!isJsonObject(output)) return undefined;
  const { effort } = output;
  if (effort === 'low' || effort === 'medium') return effort;
  return effort === 'high' || effort === 'max' || effort === 'xhigh' ? 'high' : undefined;
}

function readFormat({ output_format: format, output_config: output }: JsonObject): ResponseFormat | undefined {
  const asked = isJsonObject(format) ? format : isJsonObject(output) ? output.format : undefined;
  if (!isJsonObject(asked) || asked.type !== 'json_schema' || !isJsonObject(asked.schema)) return undefined;
  return { type: 'json_schema', name: 'answer', schema: asked.schema, strict: true };
}

function drop(names: string[], name: string): void {
  const at = names.indexOf(name);
  if (at >= 0) names.splice(at, 1);
}
