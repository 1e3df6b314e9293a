import { expect } from 'chai';
import type { CronNodeFacts } from 'mortise/sdk';
import type { NodeTypes } from '../workflow/node-types.js';
import { readWorkflow } from '../workflow/read-workflow.js';
import { validateWorkflow } from '../workflow/validate-workflow.js';

const facts = (properties: object, more: Partial<CronNodeFacts> = {}): CronNodeFacts => ({
  summary: 'Made by a test.',
  paramsSchema: { type: 'object', properties },
  dropsOtherParams: true,
  ...more,
});

/** Node types with the checks of the shipped ones, which have their own tests. */
const known: Readonly<Record<string, CronNodeFacts>> = {
  text_event: facts({ text: {} }),
  if_event: facts({ if_condition: {} }, { branches: true }),
  echo: facts({}, { dropsOtherParams: false }),
};

const types: NodeTypes = {
  facts: (type) => known[type],
  async problem(type, { text, bad }) {
    if (type === 'text_event' && !text) return { predicate: 'requires non-empty text' };
    return bad === true ? 'it is bad' : undefined;
  },
  missing: async () => undefined,
  run: () => Promise.reject(new Error('not called')),
};

const node = (id: string, type = 'text_event', more: object = { text: 'hi' }) => ({ id, type, x: 0, y: 0, ...more });
const edge = (source: string, target: string, branch?: unknown) => ({
  id: `${source}-${target}`,
  source,
  target,
  ...(branch === undefined ? {} : { branch }),
});
const start = node('s', 'start', {});

async function validate(workflow: object, by: NodeTypes = types) {
  const read = readWorkflow({ version: 'v1', ...workflow });
  if (!read) throw new Error('no workflow');
  return validateWorkflow(read, by);
}

describe('a workflow', () => {
  const two = { nodes: [start, node('a')], edges: [edge('s', 'a')] };
  const condition = node('c', 'if_event', { if_condition: 'x' });

  const refused: readonly (readonly [string, object])[] = [
    ['unsupported workflow version="v2"', { ...two, version: 'v2' }],
    ['unsupported workflow version=""', { ...two, version: '' }],
    ['workflow requires at least 2 nodes', { nodes: [start], edges: [] }],
    ['workflow requires at least 1 edge', { nodes: two.nodes, edges: [] }],
    [
      'workflow must have at most 200 nodes',
      { nodes: [start, ...Array.from({ length: 200 }, (_, index) => node(`n${index}`))], edges: two.edges },
    ],
    ['workflow node id is required', { ...two, nodes: [start, node(' ')] }],
    ['workflow node id duplicated: a', { ...two, nodes: [start, node('a'), node(' a ')] }],
    ['workflow node a has unsupported type="dance"', { ...two, nodes: [start, node('a', 'Dance')] }],
    ['workflow requires exactly one start node', { ...two, nodes: [start, node('b', 'start')] }],
    ['workflow requires exactly one start node', { nodes: [node('a'), node('b')], edges: [edge('a', 'b')] }],
    ['workflow node a requires non-empty text', { ...two, nodes: [start, node('a', 'text_event', {})] }],
    ['workflow node a invalid: it is bad', { ...two, nodes: [start, node('a', 'echo', { bad: true })] }],
    ['workflow edge id is required', { ...two, edges: [{ source: 's', target: 'a' }] }],
    ['workflow edge id duplicated: s-a', { ...two, edges: [edge('s', 'a'), edge('s', 'a')] }],
    ['workflow edge e requires source and target', { ...two, edges: [{ id: 'e', source: 's' }] }],
    ['workflow edge a-a cannot link node to itself', { ...two, edges: [edge('a', 'a')] }],
    ['workflow edge x-a source not found: x', { ...two, edges: [edge('x', 'a')] }],
    ['workflow edge s-x target not found: x', { ...two, edges: [edge('s', 'x')] }],
    [
      'workflow edge c-a branch must be true or false',
      { nodes: [start, condition, node('a')], edges: [edge('s', 'c'), edge('c', 'a', 'maybe')] },
    ],
    ['workflow edge s-a branch is only allowed after if_event', { ...two, edges: [edge('s', 'a', 'true')] }],
    [
      'workflow node c has duplicate branch "true"',
      {
        nodes: [start, condition, node('a'), node('b')],
        edges: [edge('s', 'c'), edge('c', 'a', 'true'), edge('c', 'b', true)],
      },
    ],
    [
      'workflow node c has more than one outgoing edge',
      {
        nodes: [start, condition, node('a'), node('b')],
        edges: [edge('s', 'c'), edge('c', 'a', 'true'), edge('c', 'b')],
      },
    ],
    [
      'workflow node s has more than one outgoing edge',
      { nodes: [start, node('a'), node('b')], edges: [edge('s', 'a'), edge('s', 'b')] },
    ],
    [
      'workflow node b has more than one incoming edge',
      { nodes: [start, node('a'), node('b'), node('c')], edges: [edge('s', 'b'), edge('a', 'b'), edge('b', 'c')] },
    ],
    ['workflow start node cannot have incoming edge', { nodes: [start, node('a')], edges: [edge('a', 's')] }],
    [
      'workflow start node must connect to at least one executable node',
      { nodes: [start, node('a'), node('b')], edges: [edge('a', 'b')] },
    ],
    [
      'workflow graph must be acyclic',
      { nodes: [start, node('a'), node('b'), node('c')], edges: [edge('s', 'a'), edge('b', 'c'), edge('c', 'b')] },
    ],
    ['workflow node b is not reachable from start', { nodes: [start, node('a'), node('b')], edges: [edge('s', 'a')] }],
  ];
  for (const [message, workflow] of refused) {
    it(`is refused: ${message}`, async () => {
      const error = (await validate(workflow).catch((caught: unknown) => caught)) as {
        code?: string;
        message?: string;
      };
      expect({ code: error.code, message: error.message }).to.deep.equal({ code: 'invalid_cron_workflow', message });
    });
  }

  it('may branch and join again', async () => {
    const { edges } = await validate({
      nodes: [start, condition, node('a'), node('b'), node('d')],
      edges: [edge('s', 'c'), edge('c', 'a', true), edge('c', 'b', 'false'), edge('a', 'd'), edge('b', 'd')],
    });
    expect(edges.map(({ branch }) => branch)).to.deep.equal([undefined, 'true', 'false', undefined, undefined]);
  });

  it('lets other work run between slow checks of its nodes', async () => {
    const turns: number[] = [];
    let checked = 0;
    setImmediate(() => turns.push(checked));
    const slow: NodeTypes = {
      ...types,
      async problem() {
        checked += 1;
        for (const from = performance.now(); performance.now() - from < 15; );
        return undefined;
      },
    };
    const ids = ['a', 'b', 'c', 'd'];
    await validate(
      { nodes: [start, ...ids.map((id) => node(id))], edges: ids.map((id, at) => edge(ids[at - 1] ?? 's', id)) },
      slow,
    );
    expect([turns, checked]).to.deep.equal([[1], 4]);
  });

  it('keeps the parameters of the node type and drops all others', async () => {
    const { nodes, viewport } = await validate({
      viewport: { pan_x: 1, zoom: 0 },
      nodes: [
        { ...start, text: 'x' },
        node('a', 'TEXT_EVENT', { text: 'hi', title: 'Say', if_condition: 'x', own: 1, continue_on_error: true }),
        node('b', 'echo', { text: 'kept', own: { deep: [1] } }),
      ],
      edges: [edge('s', 'a'), edge('a', 'b')],
    });
    expect(viewport).to.deep.equal({ pan_x: 1, pan_y: 0, zoom: 1 });
    expect(nodes).to.deep.equal([
      { id: 's', type: 'start', x: 0, y: 0 },
      { id: 'a', type: 'text_event', title: 'Say', x: 0, y: 0, continue_on_error: true, text: 'hi' },
      { id: 'b', type: 'echo', x: 0, y: 0, text: 'kept', own: { deep: [1] } },
    ]);
  });

  it('with a member of the wrong type is no valid body', async () => {
    for (const wrong of [
      { nodes: {} },
      { nodes: [1] },
      { nodes: [node('a', 'text_event', { text: 1 })] },
      { nodes: [node('a', 'text_event', { delay_seconds: '1' })] },
      { edges: [{ id: 1 }] },
      { viewport: 1 },
      { version: 1 },
    ]) {
      const error = (await validate(wrong).catch((caught: unknown) => caught)) as { code?: string };
      expect(error.code, JSON.stringify(wrong)).to.equal('invalid_json');
    }
  });
});
