import { expect } from 'chai';
import { createTestHost, type TestHost } from 'mortise/sdk/testing';

/** Each schema has one type, and `items` stands with the type that it belongs to. */
function isStrict(schema: string): boolean {
  let strict = true;
  JSON.parse(schema, (_, value: unknown) => {
    const { type, items } = (value ?? {}) as { type?: unknown; items?: unknown };
    // A property may be called so: its value is a schema and no keyword.
    if (Array.isArray(type) || (typeof items === 'object' && type !== 'array')) strict = false;
    return value;
  });
  return strict;
}

describe('the input schemas of the memory tools', () => {
  let host: TestHost;
  before(async () => {
    host = await createTestHost({ plugins: ['mcp-server', 'memory-backend-local', 'memory-gateway'] });
  });
  after(() => host.stop());

  const rpc = async (method: string, params: object = {}) => {
    const response = await host.post('/mcp', { jsonrpc: '2.0', id: 1, method, params });
    return (await response.json()) as {
      result: { tools: readonly { inputSchema: unknown }[] };
      error?: { data: { reason: string; details: { path: string } } };
    };
  };

  it('use no list of types, which strict clients warn about', async () => {
    const { result } = await rpc('tools/list');
    expect(result.tools.length).to.be.greaterThan(0);
    for (const { inputSchema } of result.tools) expect(JSON.stringify(inputSchema)).to.satisfy(isStrict);
  });

  for (const [kind, path] of [
    ['FACT', undefined],
    [['FACT', 'PREFERENCE'], undefined],
    [5, '/filters/kind'],
    [[5], '/filters/kind/0'],
  ] as const) {
    it(`${path ? 'refuse' : 'accept'} the filter kind ${JSON.stringify(kind)}`, async () => {
      const args = { query: 'x', spaces: ['private:me'], filters: { kind } };
      const { error } = await rpc('tools/call', { name: 'memory_query', arguments: args });
      expect(error?.data.details.path).to.equal(path);
      if (path) expect(error?.data.reason).to.equal('INVALID_PARAM_TYPE');
    });
  }
});
