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
  it('finds what an adapter gets wrong that reads tidy streams alone', async function slow() {
    this.timeout(60_000);
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
      'starts a new call at each name without index and id',
      'starts a new call when an index is reused with another id and a name',
      'uses the last id and name of a call, and accepts arguments that are an object',
      'generates ids that are missing or duplicated, and reads empty arguments as an empty object',
      'ignores fragments that belong to no call',
      'emits text immediately and calls at the end, and skips chunks without either',
      'emits each text delta before the next one arrives',
      'accepts a stream as complete only with a finish reason or an end marker',
    ]);
  });
});
