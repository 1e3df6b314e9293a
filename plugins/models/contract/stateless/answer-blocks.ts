import type { GenerateEvent, ModelToolCall } from 'mortise/sdk';

/** A part of an answer. Blocks are in the order in which they begin. */
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
  /** The text that was passed on. It is only appended to: reading it costs its whole length each time. */
  passed: string;
  /** The text that was not passed on yet. */
  pending: string;
  /** Follows the arguments of a call to their end. */
  readonly end: ObjectEnd;
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
    if (last?.kind === kind) last.pending += text;
    else this.#begin({ kind, position: undefined, id: undefined, name: undefined, pending: text });
  }

  #addFragment({ index, id, name, arguments: piece }: Extract<GenerateEvent, { type: 'tool_call_delta' }>): void {
    const known = this.#calls.get(index);
    if (!known) {
      this.#calls.set(index, this.#begin({ kind: 'call', position: index, id, name, pending: piece }));
      return;
    }
    if (!known.started) {
      known.id = id ?? known.id;
      known.name = name ?? known.name;
    }
    // A fragment after a complete object would break it; only an incomplete call can be continued.
    if (known.ended) return;
    known.pending += piece;
    known.end.push(piece);
  }

  /** The complete calls, in the order of their numbers: the end of each one's arguments, and calls without fragments. */
  #completeCalls(toolCalls: readonly ModelToolCall[]): void {
    const begun = [...this.#calls].toSorted(([a], [b]) => a - b).map(([, block]) => block);
    for (const [at, { id, name, arguments: text }] of toolCalls.entries()) {
      const block = begun[at];
      if (!block) {
        this.#begin({ kind: 'call', position: undefined, id, name, pending: text }).ended = true;
        continue;
      }
      if (!block.started) {
        block.id = id;
        block.name = name;
      }
      if (!block.ended && text.startsWith(block.passed)) block.pending = text.slice(block.passed.length);
      block.ended = true;
    }
  }

  #begin(block: Pick<OpenBlock, 'kind' | 'position' | 'id' | 'name' | 'pending'>): OpenBlock {
    const begun: OpenBlock = { ...block, passed: '', end: new ObjectEnd(), started: false, ended: false };
    if (block.kind === 'call') begun.end.push(block.pending);
    for (const before of this.#waiting) if (before.kind !== 'call') before.ended = true;
    this.#waiting.push(begun);
    return begun;
  }

  #flush(): readonly BlockEvent[] {
    const events: BlockEvent[] = [];
    for (let block = this.#waiting[0]; block; block = this.#waiting[0]) {
      // The end of a call is only checked when another block waits for it.
      block.ended ||= this.#waiting.length > 1 && block.kind === 'call' && block.end.isReached(() => textOf(block));
      if (!block.started) {
        if (block.kind === 'call' && !block.ended && (block.name === undefined || block.id === undefined)) break;
        this.#start(block, events);
      }
      if (block.pending !== '') {
        events.push({ type: 'delta', index: this.#index, text: block.pending });
        block.passed += block.pending;
        block.pending = '';
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

function textOf({ passed, pending }: OpenBlock): string {
  return passed + pending;
}

function finished(block: OpenBlock): AnswerBlock {
  const { kind, id = '', name = '' } = block;
  const text = textOf(block);
  return kind === 'call' ? { kind, call: { id, name, arguments: text === '' ? '{}' : text } } : { kind, text };
}

/** Detects when a text that arrives in pieces is a complete JSON object. Each character is read once. */
class ObjectEnd {
  #depth = 0;
  #isString = false;
  #isEscaped = false;
  /** `invalid`: the text is not an object, and cannot become one. */
  #state: 'open' | 'closed' | 'complete' | 'invalid' = 'open';

  push(piece: string): void {
    if (this.#state === 'invalid') return;
    if (this.#state !== 'open' && piece.trim() !== '') this.#state = 'invalid';
    for (let at = 0; at < piece.length && this.#state === 'open'; at += 1) {
      const character = piece[at];
      if (this.#isString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (character === '\\') this.#isEscaped = true;
        else if (character === '"') this.#isString = false;
      } else if (character === '"') this.#isString = true;
      else if (character === '{' || character === '[') this.#depth += 1;
      else if (character === '}' || character === ']') {
        this.#depth -= 1;
        if (this.#depth > 0) continue;
        this.#state =
          this.#depth === 0 && character === '}' && piece.slice(at + 1).trim() === '' ? 'closed' : 'invalid';
      }
    }
  }

  /** @param text all pieces; called only once, after the last brace */
  isReached(text: () => string): boolean {
    if (this.#state === 'closed') this.#state = isJson(text()) ? 'complete' : 'invalid';
    return this.#state === 'complete';
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
