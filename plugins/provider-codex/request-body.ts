import { objectOf, providerError, textOfMessage } from 'mortise/contracts/models';
import type { GenerateRequest, ModelContentPart, ModelMessage, ResponseFormat, ToolChoice } from 'mortise/sdk';
import type { OpenAI } from 'openai';

type RequestBody = OpenAI.Responses.ResponseCreateParamsStreaming;
type InputItem = OpenAI.Responses.ResponseInputItem;
type InputContent = OpenAI.Responses.ResponseInputContent;

/** The body of `POST <base>/responses`, which is always streamed. */
export function requestBody(request: GenerateRequest): RequestBody {
  const { model, messages, tools, settings, sessionId, maxOutputTokens, temperature, topP, responseFormat } = request;
  const effort = request.reasoningEffort ?? settings.reasoning_effort;
  const store = settings.store === true;
  const previous = store ? request.previousResponseId : undefined;
  return {
    model,
    instructions: messages
      .filter(({ role }) => role === 'system')
      .map(textOfMessage)
      .join('\n\n'),
    input: (previous === undefined ? messages : afterLastAnswer(messages)).flatMap(inputItems),
    ...(tools?.length
      ? {
          tools: tools.map(({ name, description, parameters }) => ({
            type: 'function' as const,
            name,
            description,
            parameters: { ...parameters },
            strict: false,
          })),
        }
      : {}),
    tool_choice: wireChoice(request.toolChoice ?? 'auto'),
    parallel_tool_calls: request.parallelToolCalls ?? false,
    store,
    stream: true,
    ...(sessionId === undefined ? {} : { prompt_cache_key: sessionId }),
    ...(previous === undefined ? {} : { previous_response_id: previous }),
    ...(effort ? { reasoning: { effort } } : {}),
    ...(maxOutputTokens === undefined ? {} : { max_output_tokens: maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(responseFormat ? { text: { format: wireFormat(responseFormat) } } : {}),
  };
}

function wireChoice(choice: ToolChoice): NonNullable<RequestBody['tool_choice']> {
  return typeof choice === 'string' ? choice : { type: 'function', name: choice.name };
}

function wireFormat(format: ResponseFormat): OpenAI.Responses.ResponseFormatTextConfig {
  if (format.type === 'json_object') return format;
  const { name, schema, strict } = format;
  return { type: 'json_schema', name, schema: { ...schema }, ...(strict === undefined ? {} : { strict }) };
}

/** The messages after the newest answer: the API has stored the earlier ones. */
function afterLastAnswer(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
}

function inputItems(message: ModelMessage): InputItem[] {
  switch (message.role) {
    case 'system':
      return [];
    case 'user': {
      const content = userContent(message);
      return content.length === 0 ? [] : [{ type: 'message', role: 'user', content }];
    }
    case 'assistant':
      return assistantItems(message);
    case 'tool':
      return [{ type: 'function_call_output', call_id: message.toolCallId ?? '', output: textOfMessage(message) }];
  }
}

function assistantItems(message: ModelMessage): InputItem[] {
  const text = textOfMessage(message);
  const calls = (message.toolCalls ?? []).map(({ id, name, arguments: args }) => ({
    type: 'function_call' as const,
    call_id: id,
    name,
    arguments: args,
  }));
  // The SDK's type requires members that only answers have.
  const textItem = {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text }],
  } as unknown as InputItem;
  return [...(text === '' ? [] : [textItem]), ...calls];
}

function userContent({ content }: ModelMessage): InputContent[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'input_text', text: content }];
  return content.map(inputPart);
}

function inputPart(part: ModelContentPart): InputContent {
  const { type, text = '', url, data, mediaType, name } = part;
  if (type === 'text') return { type: 'input_text', text };
  // Parts in the API's own form.
  if (type === 'input_image' || type === 'input_file') return part as unknown as InputContent;
  const dataUrl = data === undefined ? undefined : `data:${mediaType ?? 'application/octet-stream'};base64,${data}`;
  const imageUrl = type === 'image' ? (url ?? dataUrl) : objectOf(part.image_url).url;
  if ((type === 'image' || type === 'image_url') && typeof imageUrl === 'string') {
    return { type: 'input_image', image_url: imageUrl, detail: 'auto' };
  }
  if (type === 'file' && url !== undefined) return { type: 'input_file', file_url: url };
  if (type === 'file' && dataUrl !== undefined) {
    return { type: 'input_file', file_data: dataUrl, filename: name ?? 'file' };
  }
  throw providerError('provider_not_supported', 'provider does not support attachments of this type');
}
