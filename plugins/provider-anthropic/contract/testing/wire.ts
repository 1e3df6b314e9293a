/** One event of a stream in the API's form. */
export function event(type: string, data: Readonly<Record<string, unknown>> = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}

export const messageId = 'msg_01MortiseMortiseMortise';

export interface MessageUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
}

export function messageStart({ input, cacheRead = 0 }: MessageUsage = { input: 9, output: 3 }): string {
  return event('message_start', {
    message: {
      id: messageId,
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-5-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: {
        input_tokens: input,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: cacheRead,
        output_tokens: 1,
        service_tier: 'standard',
      },
    },
  });
}

export function blockStart(index: number, block: object): string {
  return event('content_block_start', { index, content_block: block });
}

export function delta(index: number, piece: object): string {
  return event('content_block_delta', { index, delta: piece });
}

export function blockStop(index: number): string {
  return event('content_block_stop', { index });
}

/** A text block in the given pieces. */
export function textBlock(index: number, ...texts: readonly string[]): readonly string[] {
  return [
    blockStart(index, { type: 'text', text: '' }),
    ...texts.map((text) => delta(index, { type: 'text_delta', text })),
    blockStop(index),
  ];
}

/** A tool call whose arguments arrive in pieces of five characters. */
export function toolBlock(index: number, id: string, name: string, args: string): readonly string[] {
  const pieces = args.match(/.{1,5}/gsu) ?? [];
  return [
    blockStart(index, { type: 'tool_use', id, name, input: {} }),
    delta(index, { type: 'input_json_delta', partial_json: '' }),
    ...pieces.map((partial_json) => delta(index, { type: 'input_json_delta', partial_json })),
    blockStop(index),
  ];
}

/** The end of a stream. */
export function messageEnd(reason: string, output = 3, sequence: string | null = null): readonly string[] {
  return [
    event('message_delta', {
      delta: { stop_reason: reason, stop_sequence: sequence },
      usage: { output_tokens: output },
    }),
    event('message_stop'),
  ];
}
