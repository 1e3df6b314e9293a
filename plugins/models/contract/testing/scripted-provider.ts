import type { CallContext, GenerateEvent, GenerateRequest, ProviderFacts } from 'mortise/sdk';
import type { TestPlugin } from 'mortise/sdk/testing';

/** The events of an answer. It may wait between two of them, and throw. */
export type ScriptedEvents = (
  request: GenerateRequest,
  ctx: CallContext,
) => Iterable<GenerateEvent> | AsyncIterable<GenerateEvent>;

/** An adapter whose answers are scripted. */
export interface ScriptedProvider {
  readonly plugin: TestPlugin;
  /** Every request so far. */
  readonly requests: readonly GenerateRequest[];
  /** Each of the next requests gets one of the answers, in order; the last one is repeated. */
  answer(...answers: readonly (ScriptedEvents | readonly GenerateEvent[])[]): void;
}

/** A plugin with the adapter `scripted`, whose models are `scripted/<any name>`. */
export function scriptedProvider(capabilities: Partial<ProviderFacts['capabilities']> = {}): ScriptedProvider {
  const requests: GenerateRequest[] = [];
  let script: (ScriptedEvents | readonly GenerateEvent[])[] = [];
  const facts: ProviderFacts = {
    capabilities: { stream: true, toolCall: true, attachments: false, reasoning: true, ...capabilities },
  };
  return {
    plugin: {
      manifest: { key: 'scripted-provider', contributes: { provider: [{ key: 'scripted', facts: { ...facts } }] } },
      definition: {
        key: 'scripted-provider',
        register(host) {
          host.contribute('provider', 'scripted', {
            ...facts,
            async *generate(request, ctx) {
              requests.push(request);
              const answer = script.length > 1 ? script.shift() : script[0];
              yield* typeof answer === 'function' ? answer(request, ctx) : (answer ?? []);
            },
          });
        },
      },
    },
    requests,
    answer(...answers) {
      script = [...answers];
    },
  };
}

/** A text answer in the given deltas. */
export function says(...texts: readonly string[]): readonly GenerateEvent[] {
  return [...texts.map((text) => ({ type: 'content_delta', text }) as const), { type: 'done', stopReason: 'end_turn' }];
}

/** An answer that calls tools. */
export function calls(
  ...toolCalls: readonly (readonly [id: string, name: string, args: string])[]
): readonly GenerateEvent[] {
  return [
    { type: 'tool_calls_complete', toolCalls: toolCalls.map(([id, name, args]) => ({ id, name, arguments: args })) },
    { type: 'done', stopReason: 'tool_use' },
  ];
}
