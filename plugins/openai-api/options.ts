import { invalidField, type ResolvedModel, readDataUrl, statelessError } from 'mortise/contracts/models';
import {
  type GenerateRequest,
  isJsonObject,
  type JsonObject,
  type ModelContentPart,
  type ModelToolDefinition,
  type ReasoningEffort,
  type ResponseFormat,
  type ToolChoice,
} from 'mortise/sdk';

/** The tools of a request, and which of them the model may call. */
export interface OfferedTools {
  readonly tools: readonly ModelToolDefinition[];
  readonly choice: ToolChoice | undefined;
}

/** A definition in either API: `{name, description, parameters}`. */
export function readTool(tool: unknown, path: string): ModelToolDefinition {
  if (!isJsonObject(tool) || typeof tool.name !== 'string') throw invalidField(`${path}.name is required`, path);
  const { name, description, parameters } = tool;
  return {
    name,
    description: typeof description === 'string' ? description : '',
    parameters: isJsonObject(parameters) ? parameters : { type: 'object' },
  };
}

/**
 * Reads `tool_choice`; `allowed_tools` drops all other tools.
 *
 * @param nameOf the name of the function in a choice or an allowed tool
 */
export function offerTools(
  tools: readonly ModelToolDefinition[],
  choice: unknown,
  nameOf: (one: JsonObject) => unknown,
): OfferedTools {
  if (choice === undefined || choice === null) return { tools, choice: undefined };
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { tools, choice };
  if (isJsonObject(choice) && choice.type === 'allowed_tools') {
    const allowed = isJsonObject(choice.allowed_tools) ? choice.allowed_tools : choice;
    const list = Array.isArray(allowed.tools) ? allowed.tools.filter(isJsonObject) : [];
    const names = new Set(list.map(nameOf));
    const mode = allowed.mode === 'required' ? 'required' : 'auto';
    return { tools: tools.filter(({ name }) => names.has(name)), choice: mode };
  }
  const name = isJsonObject(choice) ? nameOf(choice) : undefined;
  if (typeof name !== 'string') throw invalidField('tool_choice is not valid', 'tool_choice');
  return { tools, choice: { name } };
}

/** The members of a neutral request that both APIs share. */
export function requestOptions(
  model: ResolvedModel,
  body: JsonObject,
  { tools, choice }: OfferedTools,
  ignored: string[],
): Omit<GenerateRequest, 'messages'> {
  const { capabilities, settings, providerId } = model;
  const { temperature, top_p: topP, parallel_tool_calls: parallel, stream } = body;
  const withTools = tools.length > 0;
  for (const name of ['temperature', 'top_p']) {
    if (isGiven(body[name]) && typeof body[name] !== 'number') ignored.push(name);
  }
  if (isGiven(parallel) && !(withTools && typeof parallel === 'boolean')) ignored.push('parallel_tool_calls');
  if (isGiven(body.tool_choice) && !withTools && !ignored.includes('tool_choice')) ignored.push('tool_choice');
  return {
    model: model.model,
    providerId,
    settings,
    stream: stream === true && capabilities.stream,
    ...(typeof temperature === 'number' ? { temperature } : {}),
    ...(typeof topP === 'number' ? { topP } : {}),
    ...(withTools ? { tools } : {}),
    ...(withTools && choice !== undefined ? { toolChoice: choice } : {}),
    ...(withTools && typeof parallel === 'boolean' ? { parallelToolCalls: parallel } : {}),
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** Adds the members of an object that have no effect to `ignored`: all but `used`. */
export function ignoreOthers(name: string, value: unknown, used: string, ignored: string[]): void {
  if (!isJsonObject(value)) return;
  for (const [member, one] of Object.entries(value)) {
    if (member !== used && isGiven(one)) ignored.push(`${name}.${member}`);
  }
}

/** The limit of the answer, at most that of the model. */
export function outputLimit(limit: unknown, { limits }: ResolvedModel, param: string): { maxOutputTokens?: number } {
  if (limit === undefined || limit === null) return {};
  if (typeof limit !== 'number' || !(limit > 0)) throw invalidField(`${param} must be greater than 0`, param);
  return { maxOutputTokens: Math.min(Math.ceil(limit), limits.output ?? Number.POSITIVE_INFINITY) };
}

const efforts: Readonly<Record<string, ReasoningEffort>> = {
  none: 'minimal',
  minimal: 'minimal',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
};

/** The effort of a request, if it has one. For a model without reasoning, `param` is added to `ignored`. */
export function readEffort(
  effort: unknown,
  { capabilities }: ResolvedModel,
  param: string,
  ignored: string[],
): { reasoningEffort?: ReasoningEffort } {
  if (effort === undefined || effort === null) return {};
  const known = typeof effort === 'string' ? efforts[effort] : undefined;
  if (known === undefined) throw invalidField(`${param} must be one of: ${Object.keys(efforts).join(', ')}`, param);
  if (capabilities.reasoning) return { reasoningEffort: known };
  ignored.push(param);
  return {};
}

/** Reads a format in the form of responses, with the schema beside its name. */
export function readFormat(format: unknown, param: string): { responseFormat?: ResponseFormat } {
  if (!isJsonObject(format) || format.type === 'text') return {};
  if (format.type === 'json_object') return { responseFormat: { type: 'json_object' } };
  const { type, name, schema, strict } = format;
  if (type !== 'json_schema' || !isJsonObject(schema)) throw invalidField(`${param} is not valid`, param);
  return {
    responseFormat: {
      type,
      name: typeof name === 'string' ? name : 'answer',
      schema,
      ...(typeof strict === 'boolean' ? { strict } : {}),
    },
  };
}

/** A file at an address or in a data URL. @throws provider_not_supported if the model accepts none */
export function attachment(
  type: 'image' | 'audio' | 'file',
  url: unknown,
  { attachments, path, name }: { readonly attachments: boolean; readonly path: string; readonly name?: unknown },
): ModelContentPart {
  if (!attachments) throw statelessError('provider_not_supported', { param: path });
  if (typeof url !== 'string') throw invalidField(`${path}: the attachment has no data`, path);
  const data = readDataUrl(url);
  if (!data && !/^https?:\/\//i.test(url))
    throw invalidField(`${path}: the attachment must be a data URL or an https URL`, path);
  return { type, ...(data ?? { url }), ...(typeof name === 'string' ? { name } : {}) };
}
