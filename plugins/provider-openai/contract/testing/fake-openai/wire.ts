/** What one piece of a streamed answer says. */
export type Delta = Readonly<Record<string, unknown>>;

/** A fragment of a tool call in a delta. */
export interface CallDelta {
  readonly index?: number | null;
  readonly id?: string | null;
  readonly type?: 'function';
  readonly function?: { readonly name?: string; readonly arguments?: unknown };
}

export interface TokenUsage {
  readonly prompt: number;
  readonly completion: number;
}

/** The end of a stream. */
export const endMark = 'data: [DONE]\n\n';

export const completionId = 'chatcmpl-CkQ2vYvR3mortise0000000000001';

const head = {
  id: completionId,
  created: 1_760_000_000,
  model: 'gpt-4o-mini-2024-07-18',
  service_tier: 'default',
  system_fingerprint: 'fp_51db84afab',
} as const;

/** One event of a stream. */
export function frame(data: unknown): string {
  return `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

/** A chunk with one choice. `usage: null` stands in every chunk of a stream that was asked to tell its usage. */
export function chunk(delta: Delta, finish: string | null = null, withUsage = true): string {
  return frame({
    ...chunkHead(),
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(withUsage ? { usage: null } : {}),
  });
}

/** The chunk without choices that reports the usage. */
export function usageChunk(usage: TokenUsage): string {
  return frame({ ...chunkHead(), choices: [], usage: usageOf(usage) });
}

/** The chunks of a tool call as the API cuts them: id and name first, then the arguments in pieces. */
export function callChunks(
  index: number,
  [id, name, args]: readonly [id: string, name: string, args: string],
  size = 5,
  withUsage = true,
): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < args.length; at += size) pieces.push(args.slice(at, at + size));
  return [
    toolChunk([{ index, id, type: 'function', function: { name, arguments: '' } }], withUsage),
    ...pieces.map((piece) => toolChunk([{ index, function: { arguments: piece } }], withUsage)),
  ];
}

export function toolChunk(calls: readonly CallDelta[], withUsage = true): string {
  return chunk({ tool_calls: calls }, null, withUsage);
}

/** An answer that is not streamed. */
export function completion(
  message: Readonly<Record<string, unknown>>,
  finish: string | null,
  usage: TokenUsage,
): Readonly<Record<string, unknown>> {
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', ...message, refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: finish,
      },
    ],
    usage: usageOf(usage),
    service_tier: head.service_tier,
    system_fingerprint: head.system_fingerprint,
  };
}

function chunkHead(): Readonly<Record<string, unknown>> {
  const { id, ...rest } = head;
  return { id, object: 'chat.completion.chunk', ...rest };
}

function usageOf({ prompt, completion }: TokenUsage): Readonly<Record<string, unknown>> {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
