import { expect } from 'chai';
import * as fc from 'fast-check';
import type { ResolvedModel } from 'mortise/contracts/models';
import { isCodedError, type JsonObject, type ModelMessage } from 'mortise/sdk';
import { readMessages } from '../read-messages.js';
import { translateRequest } from '../translate-request.js';

const capable: ResolvedModel = {
  providerId: 'p',
  model: 'm',
  adapter: 'a',
  capabilities: { stream: true, toolCall: true, attachments: true, reasoning: true, jsonSchema: true },
  settings: {},
  limits: { output: 1_000 },
};

const incapable: ResolvedModel = {
  ...capable,
  capabilities: { stream: false, toolCall: false, attachments: false, reasoning: false },
  limits: {},
};

const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const base = { max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] };

describe('the translation of a Claude request', () => {
  it('reads each kind of message and block', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    const rows: readonly (readonly [body: JsonObject, messages: readonly ModelMessage[]])[] = [
      [
        { system: 'a', messages: [{ role: 'user', content: 'b' }] },
        [
          { role: 'system', content: 'a' },
          { role: 'user', content: 'b' },
        ],
      ],
      [
        { system: [{ text: 'a', cache_control: {} }, { text: 'b' }], messages: [{ role: 'system', content: 'c' }] },
        [
          { role: 'system', content: 'a\n\nb' },
          { role: 'system', content: 'c' },
        ],
      ],
      [
        { system: { type: 'text', text: 'a' }, messages: [{ role: 'assistant', content: '' }] },
        [{ role: 'system', content: 'a' }],
      ],
      [
        user({ type: 'text', text: 'a' }, { type: 'tool_result', tool_use_id: 't', is_error: true, content: 'no' }),
        [
          { role: 'tool', toolCallId: 't', content: '[error] no' },
          { role: 'user', content: 'a' },
        ],
      ],
      [
        user({
          type: 'tool_result',
          tool_use_id: 't',
          content: [{ type: 'text', text: 'a' }, image, { type: 'text', text: 'b' }],
        }),
        [
          { role: 'tool', toolCallId: 't', content: 'a\nb' },
          { role: 'user', content: [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }] },
        ],
      ],
      [
        {
          messages: [
            {
              role: 'assistant',
              content: [
                { type: 'thinking', thinking: 'x', signature: 's' },
                { type: 'text', text: 'a' },
              ],
            },
          ],
        },
        [{ role: 'assistant', content: 'a' }],
      ],
      [
        user(
          { type: 'document', title: 'd', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'plain' } },
          { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
        ),
        [
          {
            role: 'user',
            content: [
              { type: 'file', mediaType: 'application/pdf', data: 'AAAA', name: 'd' },
              { type: 'text', text: 'plain' },
              { type: 'image', url: 'https://a.example/b.png' },
            ],
          },
        ],
      ],
      [user({ type: 'of_2030', x: 1 }), [{ role: 'user', content: '{"type":"of_2030","x":1}' }]],
    ];
    for (const [body, messages] of rows) expect(readMessages(body, true), JSON.stringify(body)).to.deep.equal(messages);
    expect(() => readMessages(user(image), false)).to.throw('provider does not support attachments');
    const text = user({ type: 'document', source: { type: 'text', data: 'plain' } });
    expect(readMessages(text, false)).to.deep.equal([{ role: 'user', content: 'plain' }]);
  });

  it('maps tool choices, thinking budgets and efforts', () => {
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
    const choose = (choice: object) => translateRequest({ ...base, tools, tool_choice: choice }, capable).request;
    expect(choose({ type: 'auto' }).toolChoice).to.equal('auto');
    expect(choose({ type: 'any' }).toolChoice).to.equal('required');
    expect(choose({ type: 'none' }).toolChoice).to.equal('none');
    expect(choose({ type: 'tool', name: 'f' }).toolChoice).to.deep.equal({ name: 'f' });
    expect(choose({ type: 'auto', disable_parallel_tool_use: true }).parallelToolCalls).to.equal(false);
    const effort = (more: object) => translateRequest({ ...base, ...more }, capable).request.reasoningEffort;
    for (const [budget, name] of [
      [4_095, 'low'],
      [4_096, 'medium'],
      [16_383, 'medium'],
      [16_384, 'high'],
    ] as const) {
      expect(effort({ thinking: { type: 'enabled', budget_tokens: budget } })).to.equal(name);
    }
    expect(effort({ thinking: { type: 'adaptive' }, output_config: { effort: 'max' } })).to.equal('high');
    expect(effort({ thinking: { type: 'disabled' } })).to.equal(undefined);
    const output = { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } };
    expect(translateRequest({ ...base, ...output }, capable).request.responseFormat?.type).to.equal('json_schema');
  });

  it('respects the limits of the model, and names ignored fields', () => {
    expect(translateRequest({ ...base, max_tokens: 5_000 }, capable).request.maxOutputTokens).to.equal(1_000);
    const { request, ignored } = translateRequest(
      { ...base, stream: true, tools: [{ name: 'f' }], tool_choice: { type: 'any' }, thinking: { budget_tokens: 1 } },
      incapable,
    );
    expect(request).to.deep.include({ stream: false, maxOutputTokens: 10 });
    expect(request).not.to.have.any.keys('tools', 'toolChoice', 'reasoningEffort');
    expect(ignored).to.have.members(['tools', 'tool_choice', 'thinking']);
    const stops = translateRequest({ ...base, stop_sequences: ['1', '2', '3', '4', '5'] }, capable).request.stop;
    expect(stops).to.deep.equal(['1', '2', '3', '4']);
  });

  it('answers any JSON with a request or with a coded error of the client', () => {
    const known = [
      'messages',
      'system',
      'max_tokens',
      'tools',
      'tool_choice',
      'thinking',
      'stop_sequences',
      'output_config',
    ];
    const block = fc.record(
      {
        type: fc.constantFrom('text', 'image', 'document', 'tool_use', 'tool_result', 'thinking', 'x'),
        text: fc.jsonValue(),
        source: fc.jsonValue(),
        content: fc.jsonValue(),
        id: fc.jsonValue(),
        name: fc.jsonValue(),
        input: fc.jsonValue(),
        tool_use_id: fc.jsonValue(),
      },
      { requiredKeys: ['type'] },
    );
    const message = fc.record({
      role: fc.oneof(fc.constantFrom('user', 'assistant', 'system', 'tool'), fc.jsonValue()),
      content: fc.oneof(fc.string(), fc.array(block, { maxLength: 3 }), fc.jsonValue()),
    });
    const body = fc
      .tuple(
        fc.dictionary(fc.constantFrom(...known), fc.jsonValue()),
        fc.array(message, { maxLength: 3 }),
        fc.boolean(),
      )
      .map(([random, messages, wellFormed]) => (wellFormed ? { ...random, messages, max_tokens: 1 } : random));
    fc.assert(
      fc.property(body, fc.constantFrom(capable, incapable), (one, model) => {
        try {
          translateRequest(one as JsonObject, model);
        } catch (error) {
          expect(isCodedError(error) && error.status, String(error)).to.equal(400);
        }
      }),
    );
  });
});
