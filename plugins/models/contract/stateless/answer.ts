import { type CallContext, callOptions, type GenerateEvent, type GenerateRequest, type Points } from 'mortise/sdk';
import type { ResolvedModel } from '../models.js';
import { type AnswerBlock, AnswerBlocks } from './answer-blocks.js';
import { clientFailure, statelessError } from './errors.js';

/** A complete answer. */
export interface ModelAnswer {
  readonly blocks: readonly AnswerBlock[];
  readonly usage: AnswerUsage;
  /** `end_turn`, `max_tokens`, `tool_use`, `stop_sequence` or `refusal`. */
  readonly stopReason: StopReason;
  readonly stopSequence: string | undefined;
}

export type StopReason = 'end_turn' | 'max_tokens' | 'tool_use' | 'stop_sequence' | 'refusal';

/** Tokens, as counted by the provider; undefined if it did not count. */
export type AnswerUsage = Omit<Extract<GenerateEvent, { type: 'usage' }>, 'type'> | undefined;

export type AnswerEnd = Pick<ModelAnswer, 'stopReason' | 'stopSequence' | 'usage'>;

/**
 * Asks a model and waits for its first event, so that a refusal can still be answered with a status.
 * @throws the error for the client when the provider fails; see {@link clientFailure}
 */
export async function openAnswer(
  points: Points,
  { adapter }: ResolvedModel,
  request: GenerateRequest,
  ctx: CallContext,
): Promise<AsyncIterable<GenerateEvent>> {
  const events = points.stream('provider', adapter, (provider, call) => provider.generate(request, call), {
    ...callOptions(ctx),
    timeoutMs: 0,
  });
  const iterator = events[Symbol.asyncIterator]();
  try {
    const first = await iterator.next();
    return replay(first, iterator, ctx.signal);
  } catch (error) {
    throw clientFailure(error, ctx.signal);
  }
}

async function* replay(
  first: IteratorResult<GenerateEvent>,
  iterator: AsyncIterator<GenerateEvent>,
  signal: AbortSignal,
): AsyncGenerator<GenerateEvent> {
  let step = first;
  try {
    for (; !step.done; step = await iterator.next()) yield step.value;
  } catch (error) {
    throw clientFailure(error, signal);
  } finally {
    if (!step.done) await iterator.return?.();
  }
}

/** Follows an answer to its end. */
export class AnswerReader {
  readonly #blocks = new AnswerBlocks();
  #usage: AnswerUsage;
  #done: Extract<GenerateEvent, { type: 'done' }> | undefined;
  #calls = false;

  read(event: GenerateEvent): ReturnType<AnswerBlocks['push']> {
    if (event.type === 'usage') {
      const { type: _, ...usage } = event;
      this.#usage = usage;
      return [];
    }
    // Only the usage may follow the end.
    if (this.#done) return [];
    if (event.type === 'done') {
      this.#done = event;
      return this.#blocks.finish();
    }
    this.#calls ||=
      event.type === 'tool_call_delta' || (event.type === 'tool_calls_complete' && event.toolCalls.length > 0);
    return this.#blocks.push(event);
  }

  /** @throws provider_request_failed for an answer that broke off */
  end(): AnswerEnd {
    if (!this.#done) throw statelessError('provider_request_failed');
    const { stopReason, stopSequence } = this.#done;
    return { stopReason: this.#calls ? 'tool_use' : known(stopReason), stopSequence, usage: this.#usage };
  }
}

/** The whole answer of a request that does not stream. */
export async function collectAnswer(events: AsyncIterable<GenerateEvent>): Promise<ModelAnswer> {
  const reader = new AnswerReader();
  const blocks: AnswerBlock[] = [];
  for await (const event of events) {
    for (const one of reader.read(event)) if (one.type === 'stop') blocks.push(one.block);
  }
  return { blocks, ...reader.end() };
}

/** The text of an answer. */
export function textOf(blocks: readonly AnswerBlock[]): string {
  return blocks.map((block) => (block.kind === 'text' ? block.text : '')).join('');
}

const stopReasons: ReadonlySet<string> = new Set(['end_turn', 'max_tokens', 'tool_use', 'stop_sequence', 'refusal']);

function known(reason: string | undefined): StopReason {
  return reason !== undefined && stopReasons.has(reason) ? (reason as StopReason) : 'end_turn';
}
