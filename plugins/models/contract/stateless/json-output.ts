import {
  type GenerateEvent,
  isCodedError,
  isJsonObject,
  type ModelMessage,
  type ResponseFormat,
  type SchemasService,
} from 'mortise/sdk';
import { statelessError } from './errors.js';

/** The required JSON of an answer, for models of providers without a JSON mode. */
export interface JsonCheck {
  /** For the system text. */
  readonly instruction: string;
  /** Whether a parsed answer matches the requested format. */
  accepts(value: unknown): boolean;
}

/** @throws invalid_request for a schema that is not valid */
export function jsonCheck(format: ResponseFormat | undefined, schemas: SchemasService): JsonCheck | undefined {
  if (!format) return undefined;
  const only = 'Answer with one JSON value only: no other text, no code fence.';
  if (format.type === 'json_object') {
    return { instruction: `${only} The value must be an object.`, accepts: isJsonObject };
  }
  const schema = compile(format.schema, schemas);
  return {
    instruction: `${only} The value must match this JSON Schema:\n${JSON.stringify(format.schema)}`,
    accepts: (value) => schema.check(value).length === 0,
  };
}

function compile(schema: Readonly<Record<string, unknown>>, schemas: SchemasService) {
  try {
    return schemas.compile(schema, { name: 'format of an answer' });
  } catch (error) {
    if (!isCodedError(error)) throw error;
    throw statelessError('invalid_request', { message: 'the schema of the format is not a valid JSON Schema' });
  }
}

/** The messages with one more system text. */
export function withInstruction(messages: readonly ModelMessage[], instruction: string): readonly ModelMessage[] {
  const last = messages.findLastIndex(({ role }) => role === 'system');
  return [...messages.slice(0, last + 1), { role: 'system', content: instruction }, ...messages.slice(last + 1)];
}

/**
 * Waits for the whole answer and checks it. An answer that calls tools is not checked.
 * @throws invalid_model_output
 */
export async function checkJson(
  events: AsyncIterable<GenerateEvent>,
  { accepts }: JsonCheck,
): Promise<AsyncIterable<GenerateEvent>> {
  let text = '';
  let callsTools = false;
  const others: GenerateEvent[] = [];
  for await (const event of events) {
    if (event.type === 'content_delta') text += event.text;
    else others.push(event);
    callsTools ||= event.type === 'tool_calls_complete' && event.toolCalls.length > 0;
  }
  if (callsTools) return replay([...(text === '' ? [] : [{ type: 'content_delta', text } as const]), ...others]);
  const found = [text.trim(), insideFence(text)].find((one) => one !== undefined && isAccepted(one, accepts));
  if (found === undefined) throw statelessError('invalid_model_output');
  return replay([{ type: 'content_delta', text: found }, ...others]);
}

/** Models may wrap JSON in a code fence despite the instruction. */
function insideFence(text: string): string | undefined {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/.exec(text)?.[1]?.trim();
}

function isAccepted(text: string, accepts: JsonCheck['accepts']): boolean {
  try {
    return accepts(JSON.parse(text));
  } catch {
    return false;
  }
}

async function* replay(events: readonly GenerateEvent[]): AsyncGenerator<GenerateEvent> {
  yield* events;
}
