import { setTimeout as sleep } from 'node:timers/promises';
import type { GenerateEvent, GenerateRequest, ModelToolCall } from 'mortise/sdk';
import { contributing, type TestPlugin } from 'mortise/sdk/testing';

/** The answer to a call of the model; calls are counted from 1. */
export type ModelScript = (request: GenerateRequest, call: number, signal: AbortSignal) => AsyncIterable<GenerateEvent>;

export type ScriptedCall = readonly [id: string, name: string, args: string];

/** A scripted model that replaces the demo model. */
export interface FakeModel {
  readonly plugin: TestPlugin;
  readonly requests: GenerateRequest[];
  /** Signals of the calls, in order. */
  readonly signals: AbortSignal[];
}

/** @param capabilities override streaming and tool calls without attachments and reasoning. */
export function fakeModel(script: ModelScript, capabilities: Partial<Record<string, boolean>> = {}): FakeModel {
  const facts = {
    capabilities: { stream: true, toolCall: true, attachments: false, reasoning: false, ...capabilities },
  };
  const requests: GenerateRequest[] = [];
  const signals: AbortSignal[] = [];
  return {
    requests,
    signals,
    plugin: contributing(
      'provider',
      'demo',
      facts,
      {
        generate(request, ctx) {
          requests.push({ ...request, messages: [...request.messages] });
          signals.push(ctx.signal);
          return script(request, requests.length, ctx.signal);
        },
      },
      'fake-model',
    ),
  };
}

/** The n-th call gets the n-th answer; later calls get the last one. */
export function inTurn(...answers: (() => AsyncIterable<GenerateEvent>)[]): ModelScript {
  return (_, call) => (answers[Math.min(call, answers.length) - 1] ?? (() => says()))();
}

/** An answer in the given deltas. */
export async function* says(...deltas: string[]): AsyncGenerator<GenerateEvent> {
  for (const text of deltas) yield { type: 'content_delta', text };
  yield { type: 'done' };
}

/** An answer that calls tools, after the given deltas. */
export async function* asksFor(calls: readonly ScriptedCall[], ...before: string[]): AsyncGenerator<GenerateEvent> {
  for (const text of before) yield { type: 'content_delta', text };
  const toolCalls: ModelToolCall[] = calls.map(([id, name, args]) => ({ id, name, arguments: args }));
  yield { type: 'tool_calls_complete', toolCalls };
  yield { type: 'done' };
}

/** An answer with a pause before each delta, in milliseconds. */
export async function* slowly(
  ms: number,
  deltas: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<GenerateEvent> {
  for (const text of deltas) {
    await sleep(ms, undefined, { signal });
    yield { type: 'content_delta', text };
  }
  yield { type: 'done' };
}
