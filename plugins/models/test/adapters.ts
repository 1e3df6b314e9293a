import type { ProviderFacts } from 'mortise/sdk';
import { contributing, type TestPlugin } from 'mortise/sdk/testing';

/** An adapter that says nothing, so that resolved models can be looked at. */
export function silent(key: string, facts: Partial<ProviderFacts> = {}): TestPlugin {
  return contributing(
    'provider',
    key,
    { capabilities: { stream: true, toolCall: true, attachments: false, reasoning: true }, ...facts },
    {
      async *generate() {
        yield { type: 'done' };
      },
    },
    `silent-${key}`,
  );
}
