import type { GenerateEvent, ModelToolCall } from 'mortise/sdk';

/** What an answer consists of, in the order in which the blocks begin. */
export type AnswerBlock =
  | { readonly kind: 'text' | 'reasoning'; readonly text: string }
  | { readonly kind: 'call'; readonly call: ModelToolCall };

/** Blocks are numbered from 0 without gaps; one ends before the next begins. */
export type BlockEvent =
  | { readonly type: 'start'; readonly index: number; readonly kind: 'text' | 'reasoning' }
  | {
      readonly type: 'start';
      readonly index: number;
      readonly kind: 'call';
      readonly id: string;
      readonly name: string;
    }
  | { readonly type: 'delta'; readonly index: number; readonly text: string }
  | { readonly type: 'stop'; readonly index: number; readonly block: AnswerBlock };

interface OpenBlock {
  readonly kind: AnswerBlock['kind'];
  /** The provider's number of a call. */
  readonly position: number | undefined;
  id: string | undefined;
  name: string | undefined;
  text: string;
  /** Length of the text that was passed on. */
  sent: number;
  started: boolean;
  /** Nothing can follow: another block has begun, or the arguments are a complete JSON object. */
  ended: boolean;
}

/**
 * Arranges the events of an answer as consecutive blocks, for APIs whose blocks never interleave. The first open block is
 * passed on as it arrives. A call that begins meanwhile waits until the arguments of the one before are complete.
 */
export class AnswerBlocks {
  readonly #waiting: OpenBlock[] = [];
  readonly #calls = new Map<number, OpenBlock>();
  #index = 0;
  #callCount = 0;

  /** @returns what can be passed on now */
  push(event: GenerateEvent): readonly BlockEvent[] {
    if (event.type === 'content_delta') this.#addText('text', event.text);
    else if (event.type === 'reasoning_delta') this.#addText('reasoning', event.text);
    else if (event.type === 'tool_call_delta') this.#addFragment(event);
    else if (event.type === 'tool_calls_complete') this.#completeCalls(event.toolCalls);
    else return [];
    return this.#flush();
  }

  /** Ends the answer: the rest of all blocks. */
  finish(): readonly BlockEvent[] {
    for (const block of this.#waiting) block.ended = true;
    return this.#flush();
  }

  #addText(kind: 'text' | 'reasoning', text: string): void {
    if (text === '') return;
    const last = this.#waiting.at(-1);
    if (last?.kind === kind) last.text += text;
    else this.#begin({ kind, position: undefined, id: undefined, name: undefined, text });
  }

  #addFragment({ index, id, name, arguments: piece }: Extract<GenerateEvent, { type: 'tool_call_delta' }>): void {
    const known = this.#calls.get(index);
    if (!known) {
      this.#calls.set(index, this.#begin({ kind: 'call', position: index, id, name, text: piece }));
      return;
    }
    if (!known.started) {
      known.id = id ?? known.id;
      known.name = name ?? known.name;
    }
    known.text += piece;
    // A fragment behind a complete object would break it; only an incomplete call can be continued.
    if (known.ended) known.text = known.text.slice(0, known.sent);
  }

  /** The complete calls, in the order of their numbers: the end of each one's arguments, and calls without fragments. */
  #completeCalls(toolCalls: readonly ModelToolCall[]): void {
    const begun = [...this.#calls].toSorted(([a], [b]) => a - b).map(([, block]) => block);
    for (const [at, { id, name, arguments: text }] of toolCalls.entries()) {
      const block = begun[at];
      if (!block) {
        this.#begin({ kind: 'call', position: undefined, id, name, text }).ended = true;
        continue;
      }
      if (!block.started) {
        block.id = id;
        block.name = name;
      }
      if (!block.ended && text.startsWith(block.text.slice(0, block.sent))) block.text = text;
      block.ended = true;
    }
  }

  #begin(block: Pick<OpenBlock, 'kind' | 'position' | 'id' | 'name' | 'text'>): OpenBlock {
    const begun: OpenBlock = { ...block, sent: 0, started: false, ended: false };
    for (const before of this.#waiting) if (before.kind !== 'call') before.ended = true;
    this.#waiting.push(begun);
    return begun;
  }

  #flush(): readonly BlockEvent[] {
    const events: BlockEvent[] = [];
    for (let block = this.#waiting[0]; block; block = this.#waiting[0]) {
      // The end of a call is only looked for when something waits for it.
      block.ended ||= this.#waiting.length > 1 && block.kind === 'call' && isJsonObjectText(block.text);
      if (!block.started) {
        if (block.kind === 'call' && !block.ended && (block.name === undefined || block.id === undefined)) break;
        this.#start(block, events);
      }
      if (block.text.length > block.sent) {
        events.push({ type: 'delta', index: this.#index, text: block.text.slice(block.sent) });
        block.sent = block.text.length;
      }
      if (!block.ended) break;
      events.push({ type: 'stop', index: this.#index, block: finished(block) });
      this.#waiting.shift();
      this.#index += 1;
    }
    return events;
  }

  #start(block: OpenBlock, events: BlockEvent[]): void {
    block.started = true;
    const { kind } = block;
    if (kind !== 'call') {
      events.push({ type: 'start', index: this.#index, kind });
      return;
    }
    this.#callCount += 1;
    block.id ||= `call_${this.#callCount}`;
    events.push({ type: 'start', index: this.#index, kind, id: block.id, name: block.name ?? '' });
  }
}

function finished({ kind, id = '', name = '', text }: OpenBlock): AnswerBlock {
  return kind === 'call' ? { kind, call: { id, name, arguments: text === '' ? '{}' : text } } : { kind, text };
}

function isJsonObjectText(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
