import { expect } from 'chai';
import { derivedTools } from '../derived-tools.js';
import { normaliseItems, unwrapArguments, withUsableLimits } from '../normalise-arguments.js';
import { readRuntimeTools } from '../runtime-tools.js';
import { resolveAlias } from '../tool-names.js';

const no = () => false;

describe('names and arguments of models', () => {
  it('resolve aliases in any case, with or without a prefix', () => {
    const cases = {
      view_file_lines: 'view',
      'functions.Edit_File_Lins': 'edit',
      WEB_SEARCH: 'search',
      browser_use: 'browser',
      selfops: 'self_ops',
      updateplan: 'update_plan',
      constructor: 'constructor',
      shell: 'shell',
    };
    for (const [name, tool] of Object.entries(cases)) expect(resolveAlias(name), name).to.equal(tool);
  });

  it('unwrap up to four wrappers, unless the schema declares the member', () => {
    expect(unwrapArguments({ input: { arguments: '{"args":{"path":"/x"}}' } }, no)).to.deep.equal({ path: '/x' });
    expect(unwrapArguments({ args: [{ path: '/x' }] }, no)).to.deep.equal({ items: [{ path: '/x' }] });
    expect(unwrapArguments({ input: 'not json' }, no)).to.deep.equal({ input: 'not json' });
    expect(unwrapArguments({ input: { a: 1 } }, () => true)).to.deep.equal({ input: { a: 1 } });
    const five = { input: { input: { input: { input: { input: { a: 1 } } } } } };
    expect(unwrapArguments(five, no)).to.deep.equal({ input: { a: 1 } });
  });

  it('become a list of items with the names of the schema', () => {
    for (const [tool, args, expected] of [
      ['view', { path: '/x', start_line: 1, end_line: 2 }, { path: '/x', start: 1, end: 2 }],
      ['view', { path: '/x', start: 3, start_line: 1, end: 4 }, { path: '/x', start: 3, end: 4 }],
      ['shell', { cmd: 'ls', workdir: '/w', yield_time_ms: 1_500 }, { command: 'ls', cwd: '/w', timeout_seconds: 2 }],
      [
        'shell',
        { command: 'ls', cmd: 'rm', timeout_seconds: 3, yield_time_ms: 9_000 },
        { command: 'ls', timeout_seconds: 3 },
      ],
      ['search', { q: 'harbour', num_results: 3 }, { query: 'harbour', count: 3 }],
    ] as const) {
      expect(normaliseItems(tool, args), JSON.stringify(args)).to.deep.equal({ items: [expected] });
      expect(normaliseItems(tool, { items: args })).to.deep.equal({ items: [expected] });
      expect(normaliseItems(tool, { items: [args] })).to.deep.equal({ items: [expected] });
    }
    expect(normaliseItems('view', { other: 1 })).to.deep.equal({ other: 1 });
    expect(normaliseItems('view', { items: 7 })).to.deep.equal({ items: 7 });
  });

  it('lose a time limit that is not a number', () => {
    const items = [{ command: 'a', timeout_seconds: '30' }, { command: 'b', timeout_seconds: 3 }, 7];
    expect(withUsableLimits('shell', { items })).to.deep.equal({
      items: [{ command: 'a' }, { command: 'b', timeout_seconds: 3 }, 7],
    });
    expect(withUsableLimits('other', { items })).to.deep.equal({ items });
  });

  it('of derived tools are routed by their target', () => {
    const route = (name: string, args: object) => derivedTools[name]?.route(args as never);
    expect(route('open', { path: '/x' })?.input).to.deep.equal({ items: [{ path: '/x', start: 1, end: 200 }] });
    expect(route('open', { path: '/x', lineno: 7 })?.input).to.deep.equal({
      items: [{ path: '/x', start: 7, end: 7 }],
    });
    expect(route('open', { ref_id: 'https://example.com/a' })).to.deep.include({ capability: 'open_url' });
    expect(() => route('open', { path: 'x' })).to.throw('tool input path is invalid');
    expect(() => route('open', {})).to.throw('tool input path is required');
    expect(() => route('click', {})).to.throw('tool input task is required');
    const clicked = route('click', { url: 'https://example.com', selector: '#go' });
    expect(clicked?.finish?.({ text: 'done' })).to.deep.include({
      mode: 'approx',
      action: 'click',
      text: 'mode=approx action=click routed_to=browser\ndone',
    });
    expect(route('Bash', { command: 'ls', timeout: 1_500 })?.input).to.deep.equal({
      items: [{ command: 'ls', timeout_seconds: 2 }],
    });
    expect(
      route('WebSearch', { query: 'a', allowed_domains: ['x.org', 'y.org'], blocked_domains: ['z.org'] })?.input,
    ).to.deep.equal({ items: [{ query: 'a site:x.org OR site:y.org -site:z.org' }] });
    const fetched = route('WebFetch', { url: 'http://example.com', prompt: 'what?' })?.input.items as { url: string }[];
    expect(fetched[0]?.url).to.equal('https://example.com/');
  });

  it('of runtime tools are read in every form, the later entry first', () => {
    const tools = readRuntimeTools(
      { runtime_tools: [{ name: 'a', description: 'old', gateway_tool: 'view' }] },
      {
        runtime_tools: {
          tools: [{ name: 'a', description: 'new', delegate_tool: 'find', delegate_input: { path: '.' } }],
        },
        mcp: { servers: { fs: { tools: [{ name: 'read', input_schema: '{"properties":{"p":{}}}' }] } } },
        mcp_tools: [{ server: 'fs', tool: 'write' }],
        dynamic: [
          { type: 'function', function: { name: 'f', parameters: { properties: {} } } },
          7,
          null,
          { name: 'bad name' },
        ],
      },
    );
    expect(tools.map(({ name, target }) => [name, target])).to.deep.equal([
      ['a', 'find'],
      ['mcp__fs__read', undefined],
      ['mcp__fs__write', undefined],
      ['f', undefined],
    ]);
    expect(tools[1]?.facts.inputSchema).to.deep.equal({ type: 'object', properties: { p: {} } });
  });
});
