import { expect } from 'chai';
import * as fc from 'fast-check';
import type { ResolvedModel } from 'mortise/contracts/models';
import { isCodedError, type JsonObject } from 'mortise/sdk';
import { translateChat } from '../chat/translate-chat.js';
import { translateResponse } from '../responses/translate-response.js';

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

const chat = (more: object = {}): JsonObject => ({ messages: [{ role: 'user', content: 'hi' }], ...more });
const schema = { type: 'object' };

describe('the translation of OpenAI requests', () => {
  it('reads the same options of both APIs', () => {
    const format = { type: 'json_schema', name: 'n', schema, strict: true };
    const { type, ...named } = format;
    const completion = translateChat(
      chat({ max_tokens: 5_000, reasoning_effort: 'none', response_format: { type, json_schema: named } }),
      capable,
    ).request;
    const response = translateResponse(
      { input: 'hi', max_output_tokens: 5_000, reasoning: { effort: 'none' }, text: { format } },
      capable,
    ).request;
    for (const request of [completion, response]) {
      expect(request).to.deep.include({
        messages: [{ role: 'user', content: 'hi' }],
        maxOutputTokens: 1_000,
        reasoningEffort: 'minimal',
        responseFormat: format,
      });
    }
  });

  it('reads each kind of part', () => {
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'input_audio', input_audio: { data: 'BBBB', format: 'mp3' } },
      { type: 'file', file: { filename: 'f.pdf', file_data: 'data:application/pdf;base64,CCCC' } },
    ];
    expect(translateChat({ messages: [{ role: 'user', content: parts }] }, capable).request.messages).to.deep.equal([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'image', mediaType: 'image/png', data: 'AAAA' },
          { type: 'audio', mediaType: 'audio/mpeg', data: 'BBBB' },
          { type: 'file', mediaType: 'application/pdf', data: 'CCCC', name: 'f.pdf' },
        ],
      },
    ]);
    const items = [
      { type: 'input_image', image_url: 'https://a.example/b.png' },
      { type: 'input_file', filename: 'f.pdf', file_data: 'data:application/pdf;base64,CCCC' },
    ];
    expect(translateResponse({ input: [{ role: 'user', content: items }] }, capable).request.messages).to.deep.equal([
      {
        role: 'user',
        content: [
          { type: 'image', url: 'https://a.example/b.png' },
          { type: 'file', mediaType: 'application/pdf', data: 'CCCC', name: 'f.pdf' },
        ],
      },
    ]);
    for (const part of parts.slice(1)) {
      const refused = () => translateChat({ messages: [{ role: 'user', content: [part] }] }, incapable);
      expect(refused).to.throw('provider does not support attachments');
    }
  });

  it('names the fields that the model does not support', () => {
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const { request, ignored } = translateChat(
      chat({ stream: true, tools, tool_choice: 'required', reasoning_effort: 'high' }),
      incapable,
    );
    expect(request.stream).to.equal(false);
    expect(request).not.to.have.any.keys('tools', 'toolChoice', 'reasoningEffort');
    expect(ignored).to.have.members(['tools', 'tool_choice', 'reasoning_effort']);
  });

  it('answers any JSON with a request or with a coded error of the client', () => {
    const part = fc.record(
      {
        type: fc.constantFrom('text', 'input_text', 'image_url', 'input_audio', 'file', 'input_file', 'refusal', 'x'),
        text: fc.jsonValue(),
        image_url: fc.jsonValue(),
        input_audio: fc.jsonValue(),
        file: fc.jsonValue(),
        file_data: fc.jsonValue(),
      },
      { requiredKeys: ['type'] },
    );
    const item = fc.record(
      {
        type: fc.constantFrom('message', 'function_call', 'function_call_output', 'reasoning', 'x'),
        role: fc.constantFrom('user', 'assistant', 'developer', 'tool', 'function', 'x'),
        content: fc.oneof(fc.string(), fc.array(part, { maxLength: 3 }), fc.jsonValue()),
        tool_calls: fc.jsonValue(),
        function_call: fc.jsonValue(),
        tool_call_id: fc.jsonValue(),
        call_id: fc.jsonValue(),
        name: fc.jsonValue(),
        output: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const names = ['tools', 'tool_choice', 'functions', 'stop', 'response_format', 'text', 'reasoning', 'n', 'audio'];
    const body = fc
      .tuple(fc.dictionary(fc.constantFrom(...names), fc.jsonValue()), fc.array(item, { maxLength: 3 }), fc.boolean())
      .map(([random, items, wellFormed]) => (wellFormed ? { ...random, messages: items, input: items } : random));
    fc.assert(
      fc.property(body, fc.constantFrom(capable, incapable), (one, model) => {
        for (const translate of [translateChat, translateResponse]) {
          try {
            translate(one as JsonObject, model);
          } catch (error) {
            expect(isCodedError(error) && error.status, String(error)).to.equal(400);
          }
        }
      }),
    );
  });
});
