import { expect } from 'chai';
import { openAiCompatibleSuite } from 'mortise/contracts/provider-openai/testing';
import { type GenerateEvent, type GenerateRequest, type ModelToolCall, MortiseError, type Provider } from 'mortise/sdk';
import { checkContract, createTestHost } from 'mortise/sdk/testing';

/** An adapter that believes every API to be as tidy as the first: whole answers, an index everywhere, each id once. */
async function* careless({ settings, messages, model }: GenerateRequest): AsyncGenerator<GenerateEvent> {
  const response = await fetch(`${settings.base_url}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model, messages, stream: true }),
  });
  if (!response.ok) throw new MortiseError('provider_request_failed', `provider returned status ${response.status}`);
  const calls: { id: string; name: string; arguments: string }[] = [];
  let text = '';
  for (const frame of (await response.text()).split('\n\n')) {
    if (!frame.startsWith('data: {')) continue;
    const delta = JSON.parse(frame.slice('data: '.length)).choices[0]?.delta ?? {};
    text += delta.content ?? '';
    for (const {
      index = 0,
      id,
      function: { name, arguments: args },
    } of delta.tool_calls ?? []) {
      calls[index] ??= { id: '', name: '', arguments: '' };
      const call = calls[index];
      call.id ||= id ?? '';
      call.name ||= name ?? '';
      call.arguments += args ?? '';
    }
  }
  if (text !== '') yield { type: 'content_delta', text };
  const toolCalls: readonly ModelToolCall[] = calls;
  if (toolCalls.length > 0) yield { type: 'tool_calls_complete', toolCalls };
  yield { type: 'done' };
}

describe('the contract of adapters for chat completions', () => {
  it('finds the faults of an adapter that reads only well-formed streams', async () => {
    const facts = { capabilities: { stream: true, toolCall: true, attachments: false, reasoning: false } };
    const provider: Provider = { ...facts, generate: careless };
    const broken = await checkContract(openAiCompatibleSuite, {
      host: () =>
        createTestHost({
          extra: [
            {
              manifest: { key: 'careless', contributes: { provider: [{ key: 'careless', facts }] } },
              definition: {
                key: 'careless',
                register: (host) => void host.contribute('provider', 'careless', provider),
              },
            },
          ],
        }),
      key: 'careless',
      settings: (baseUrl) => ({ base_url: baseUrl }),
    });
    expect([...broken.keys()]).to.deep.equal([
      'distinguishes calls without an index by their id',
      'starts a call with each name without index and id',
      'starts a call when an index is reused with another id and a name',
      'uses the last id and name of a call, and accepts arguments that are an object',
      'replaces missing and duplicate ids, and empty arguments by an object',
      'ignores pieces that belong to no call',
      'emits text at once and calls at the end, and skips chunks with neither',
      'emits each piece of text before the next one is sent',
      'accepts a stream only with a finish reason or an end mark',
    ]);
  });
});
