import { expect } from 'chai';
import * as fc from 'fast-check';
import { AnswerBlocks, type BlockEvent } from 'mortise/contracts/models';
import type { GenerateEvent, ModelToolCall } from 'mortise/sdk';

/** What a reader of the blocks accumulates. */
function accumulate(events: readonly BlockEvent[]) {
  const blocks: { kind: string; id?: string; name?: string; text: string }[] = [];
  let open: number | undefined;
  for (const event of events) {
    if (event.type === 'start') {
      expect(open, 'a block begins inside another').to.equal(undefined);
      expect(event.index, 'a number is left out').to.equal(blocks.length);
      open = event.index;
      const { type: _, index: __, ...facts } = event;
      blocks.push({ ...facts, text: '' });
      continue;
    }
    expect(event.index).to.equal(open);
    const block = blocks[event.index];
    if (event.type === 'delta' && block) block.text += event.text;
    if (event.type === 'stop') open = undefined;
  }
  expect(open, 'a block does not end').to.equal(undefined);
  return blocks;
}

function run(events: readonly GenerateEvent[]): readonly BlockEvent[] {
  const blocks = new AnswerBlocks();
  return [...events.flatMap((event) => blocks.push(event)), ...blocks.finish()];
}

describe('the blocks of an answer', () => {
  it('pass on the fragments of the first call as they come, and those of the next after it', () => {
    const blocks = new AnswerBlocks();
    const types = (event: GenerateEvent) => blocks.push(event).map(({ type, index }) => `${type} ${index}`);
    const fragment = (index: number, text: string, name?: string) =>
      types({ type: 'tool_call_delta', index, arguments: text, ...(name ? { id: `c${index}`, name } : {}) });
    expect(types({ type: 'content_delta', text: 'a' })).to.deep.equal(['start 0', 'delta 0']);
    expect(fragment(0, '{"a":', 'f')).to.deep.equal(['stop 0', 'start 1', 'delta 1']);
    expect(fragment(1, '{"b":1}', 'g')).to.deep.equal([]);
    expect(fragment(0, '1}')).to.deep.equal(['delta 1', 'stop 1', 'start 2', 'delta 2']);
    expect(blocks.finish().map(({ type, index }) => `${type} ${index}`)).to.deep.equal(['stop 2']);
  });

  it('take the end of the arguments from the complete calls', () => {
    const call = (text: string): ModelToolCall => ({ id: 'c', name: 'f', arguments: text });
    const complete = (text: string): GenerateEvent => ({ type: 'tool_calls_complete', toolCalls: [call(text)] });
    const begun: GenerateEvent = { type: 'tool_call_delta', index: 3, id: 'c', name: 'f', arguments: '' };
    expect(accumulate(run([complete('{}')]))[0]?.text).to.equal('{}');
    expect(accumulate(run([begun, complete('{}')]))[0]?.text).to.equal('{}');
    expect(accumulate(run([begun, { ...begun, arguments: '{"a"' }, complete('{"a":1}')]))[0]?.text).to.equal('{"a":1}');
  });

  it('lose and mix nothing, however the fragments are cut and interleaved', () => {
    const args = fc
      .dictionary(fc.string(), fc.oneof(fc.string(), fc.integer()), { maxKeys: 3 })
      .map((one) => JSON.stringify(one));
    const plan = fc.record({
      text: fc.array(fc.string(), { maxLength: 3 }),
      calls: fc.array(args, { minLength: 1, maxLength: 3 }),
      order: fc.infiniteStream(fc.nat(2)),
      sizes: fc.infiniteStream(fc.integer({ min: 1, max: 5 })),
      completes: fc.boolean(),
    });
    fc.assert(
      fc.property(plan, ({ text, calls, order, sizes, completes }) => {
        const events: GenerateEvent[] = text.map((one) => ({ type: 'content_delta', text: one }));
        const rest = [...calls];
        const begun = new Set<number>();
        while (rest.some((one) => one !== '')) {
          const index = (order.next().value as number) % calls.length;
          const size = sizes.next().value as number;
          const piece = (rest[index] ?? '').slice(0, size);
          if (piece === '') continue;
          rest[index] = (rest[index] ?? '').slice(size);
          const first = begun.has(index) ? {} : { id: `c${index}`, name: `f${index}` };
          begun.add(index);
          events.push({ type: 'tool_call_delta', index, arguments: piece, ...first });
        }
        const toolCalls = calls.map((one, index) => ({ id: `c${index}`, name: `f${index}`, arguments: one }));
        if (completes) events.push({ type: 'tool_calls_complete', toolCalls });
        const blocks = accumulate(run(events));
        const texts = blocks.filter(({ kind }) => kind === 'text').map((block) => block.text);
        expect(texts.join('')).to.equal(text.join(''));
        const got = blocks
          .filter(({ kind }) => kind === 'call')
          .map(({ id, name, text: one }) => ({ id, name, arguments: one }));
        expect(got).to.have.deep.members(toolCalls);
      }),
    );
  });

  it('look at each character once, however many pieces an answer has', () => {
    // Looking back at what was passed on takes minutes.
    const count = 300_000;
    const blocks = new AnswerBlocks();
    let length = 0;
    const read = (events: readonly BlockEvent[]): void => {
      for (const event of events) if (event.type === 'delta') length += event.text.length;
    };
    for (let piece = 0; piece < count; piece += 1) read(blocks.push({ type: 'content_delta', text: 'words' }));
    read(blocks.push({ type: 'tool_call_delta', index: 0, id: 'a', name: 'one', arguments: '{"text":"' }));
    read(blocks.push({ type: 'tool_call_delta', index: 1, id: 'b', name: 'two', arguments: '{}' }));
    for (let piece = 0; piece < count; piece += 1) {
      read(blocks.push({ type: 'tool_call_delta', index: 0, arguments: '}}}}}' }));
    }
    read(blocks.push({ type: 'tool_call_delta', index: 0, arguments: '"}' }));
    read(blocks.finish());
    expect(length).to.equal(10 * count + '{"text":"'.length + '"}'.length + '{}'.length);
  });
});
