import { json, type ScriptedAnswer, streams, type UpstreamAnswer } from 'mortise/contracts/models/testing';
import { type MessageUsage, messageEnd, messageId, messageStart, textBlock, toolBlock } from './wire.js';

export * from './wire.js';

export interface MessageScript {
  readonly text?: readonly string[];
  readonly calls?: readonly (readonly [id: string, name: string, args: string])[];
  readonly stopReason?: string;
  readonly usage?: MessageUsage;
}

/** A complete answer, streamed if the request asks for a stream. */
export function answers({ text = [], calls = [], stopReason, usage }: MessageScript): UpstreamAnswer {
  const reason = stopReason ?? (calls.length > 0 ? 'tool_use' : 'end_turn');
  const { input, output, cacheRead = 0 } = usage ?? { input: 9, output: 3 };
  const first = text.length > 0 ? 1 : 0;
  return ({ body }) => {
    if ((body as { stream?: boolean } | undefined)?.stream === true) {
      return streams(
        messageStart(usage),
        ...(text.length > 0 ? textBlock(0, ...text) : []),
        ...calls.flatMap(([id, name, args], index) => toolBlock(first + index, id, name, args)),
        ...messageEnd(reason, output),
      );
    }
    return json(200, {
      id: messageId,
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-5-5',
      content: [
        ...(text.length > 0 ? [{ type: 'text', text: text.join('') }] : []),
        ...calls.map(([id, name, args]) => ({ type: 'tool_use', id, name, input: JSON.parse(args) })),
      ],
      stop_reason: reason,
      stop_sequence: null,
      usage: { input_tokens: input, cache_read_input_tokens: cacheRead, output_tokens: output },
    });
  };
}

/** A text answer in the given deltas. */
export function says(...text: string[]): UpstreamAnswer {
  return answers({ text });
}

/** An answer that calls tools. */
export function asksFor(...calls: (readonly [id: string, name: string, args: string])[]): UpstreamAnswer {
  return answers({ calls });
}

/** An error response of the API. */
export function fails(
  status: number,
  error: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): ScriptedAnswer {
  return json(status, { type: 'error', error: { type: 'api_error', message: 'scripted', ...error } }, headers);
}
