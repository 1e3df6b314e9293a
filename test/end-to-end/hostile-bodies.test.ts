import { expect } from 'chai';
import { isJsonObject } from 'mortise/sdk';
import { type ServerProcess, startServer } from 'mortise/sdk/testing';

/** JSON that code trips over when it takes a member for a text, a number or a list without looking. */
const hostile = [{ toString: 0, valueOf: 0 }, [{ toString: 0 }], null, 1e308, '\ud800'] as const;

const model = 'demo/demo-chat';
const text = { type: 'text', text: 'hi' };
const schema = { type: 'object', properties: { q: { type: 'string' } } };
const actor = { actor_type: 'user', actor_id: 'u1', display_name: 'U' };
const evidence = { raw_event_id: 'e1', raw_payload_ref: 'r', signature: 's' };

/** A valid body of each API that reads its members by hand. */
const bodies: readonly (readonly [path: string, body: object])[] = [
  [
    '/v1/messages',
    {
      model,
      max_tokens: 5,
      system: [text],
      tools: [{ name: 'a', description: 'd', input_schema: schema }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      messages: [
        { role: 'user', content: [text] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'a', input: { q: '1' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [text], is_error: false }] },
      ],
    },
  ],
  ['/v1/messages', { model, max_tokens: 5, messages: [{ role: 'user', content: [{ type: 'image', source: {} }] }] }],
  [
    '/v1/chat/completions',
    {
      model,
      stream_options: { include_usage: true },
      stop: ['a'],
      tools: [{ type: 'function', function: { name: 'a', description: 'd', parameters: schema } }],
      tool_choice: { type: 'function', function: { name: 'a' } },
      messages: [
        { role: 'user', name: 'n', content: [text] },
        { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'a', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'c', content: [text] },
      ],
    },
  ],
  [
    '/v1/responses',
    {
      model,
      metadata: { a: 'b' },
      reasoning: { effort: 'low' },
      tools: [{ type: 'function', name: 'a', parameters: schema }, { type: 'web_search' }],
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
        { type: 'function_call', call_id: 'c', name: 'a', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'a' }] },
      ],
    },
  ],
  [
    '/observations',
    {
      ...{ source_name: 'shop', source_kind: 'external', obs_type: 'message', session_key: 'shop:u1', actor, evidence },
      ...{ timestamp: '2026-01-01T00:00:00Z', tags: ['a'], metadata: { a: { b: 1 } }, confidence: 0.5, hop: 1 },
      payload: { text: ' ', attachments: [{ uri: 'a', sha256: 'b', size: 1 }] },
    },
  ],
  ['/observations', { source_name: 'shop', obs_type: 'world_data', payload: { schema_id: 's', data: { a: 1 } } }],
  ['/observations', { observations: [{ source_name: 'shop', payload: { text: ' ' } }] }],
  ['/gate/explain', { source_name: 'shop', ingress: 'api', actor, payload: { text: 'hi' } }],
  ['/workspace/import', { mode: 'replace', payload: { version: 'v1', agents_md: 'a', config: { envs: {} } } }],
  [
    '/memory/store',
    {
      ...{ payload_md: '# A', target_space: 'private:me', meta_json: { a: 1 }, kind: 'FACT' },
      evidence: [{ uri: 'memory://attachments/1/abc', sha256: 'a'.repeat(64), v: 2 }],
    },
  ],
  ['/memory/query', { query: 'a', spaces: ['private:me'], filters: { kind: 'FACT' }, top_k: 3 }],
];

describe('a body whose members have the wrong type', function () {
  this.timeout(120_000);
  let server: ServerProcess;
  before(async () => {
    server = await startServer();
  });
  after(() => server.dispose());

  for (const [index, [path, body]] of bodies.entries()) {
    it(`is answered without an internal error: POST ${path}, body ${index + 1}`, async () => {
      const cases = membersOf(body).flatMap((member) => hostile.map((value) => replaced(body, member, value)));
      expect(cases.length).to.be.greaterThan(9);
      for (let at = 0; at < cases.length; at += 8) {
        await Promise.all(
          cases.slice(at, at + 8).map(async (hostileBody) => {
            const response = await server.post(path, hostileBody);
            const answer = await response.text();
            expect(answer, JSON.stringify(hostileBody)).not.to.include('internal');
            expect(response.status, JSON.stringify(hostileBody)).to.be.lessThan(500);
          }),
        );
      }
    });
  }
});

/** The path of every member of a JSON value, at any depth. */
function membersOf(value: unknown): readonly (readonly string[])[] {
  if (!isJsonObject(value) && !Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => [
    [name],
    ...membersOf(member).map((below) => [name, ...below]),
  ]);
}

function replaced(value: unknown, [name, ...below]: readonly string[], by: unknown): unknown {
  if (name === undefined) return by;
  if (Array.isArray(value)) return value.map((one, index) => (String(index) === name ? replaced(one, below, by) : one));
  const object = value as Readonly<Record<string, unknown>>;
  return { ...object, [name]: replaced(object[name], below, by) };
}
