import type { GenerateRequest, ModelToolDefinition } from 'mortise/sdk';
import type { OpenAI } from 'openai';
import type { Config } from '../config.generated.js';
import { wireMessages } from './wire-messages.js';

export type RequestBody = OpenAI.ChatCompletionCreateParams;

/** The body of `POST <base>/chat/completions`. `withUsage`: requests the usage of a stream. */
export function requestBody(
  { model, messages, tools, stream, maxOutputTokens }: GenerateRequest,
  { base_url, reasoning_effort }: Config,
  withUsage: boolean,
): RequestBody {
  return {
    model,
    messages: wireMessages(messages),
    ...(tools?.length ? { tools: tools.map(wireTool) } : {}),
    ...(reasoning_effort ? { reasoning_effort } : {}),
    ...(maxOutputTokens === undefined ? {} : outputLimit(base_url, maxOutputTokens)),
    ...(stream ? { stream: true, ...(withUsage ? { stream_options: { include_usage: true } } : {}) } : {}),
  };
}

function wireTool({ name, description, parameters }: ModelToolDefinition): OpenAI.ChatCompletionTool {
  return { type: 'function', function: { name, description, parameters: { ...parameters } } };
}

/** The API renamed the limit for models that think; others that speak its language know the old name. */
function outputLimit(baseUrl: string, tokens: number): Partial<RequestBody> {
  return new URL(baseUrl).hostname === 'api.openai.com' ? { max_completion_tokens: tokens } : { max_tokens: tokens };
}
