import { expect } from 'chai';
import * as fc from 'fast-check';
import { estimateTokens } from 'mortise/contracts/models';
import type { StoredMessage } from 'mortise/contracts/sessions';
import type { ModelMessage } from 'mortise/sdk';
import {
  buildContext,
  type ContextOptions,
  checkInput,
  historyBudget,
  historyLimit,
  maxTokens,
  messageTokens,
} from '../build-context.js';

function row(turnId: string | null, role: StoredMessage['role'], content: string, more: Partial<StoredMessage> = {}) {
  const facts = {
    id: 'msg',
    sessionKey: 's',
    chatId: 'c',
    seq: 0,
    status: 'complete' as const,
    epoch: 1,
    createdAt: 0,
  };
  return { ...facts, turnId, role, content, ...more } satisfies StoredMessage;
}

/** A turn of about this many tokens: 4 characters each, half in the question and half in the answer. */
function turnOf(name: string, tokens: number): StoredMessage[] {
  const half = 'abcd '.repeat(tokens / 2).trim();
  return [row(name, 'user', half), row(name, 'assistant', half)];
}

const asked = row('now', 'user', 'and now');

function context(rows: readonly StoredMessage[], parts: Partial<ContextOptions> = {}): readonly ModelMessage[] {
  return buildContext(rows, {
    layers: [],
    tools: [],
    limits: { context: 400, output: 100 },
    compaction: 'window',
    turnId: 'now',
    modelMessages: (kept) => kept.map(({ role, content }) => ({ role, content })),
    ...parts,
  });
}

const sizes = (messages: readonly ModelMessage[]) => messages.map(({ content }) => String(content).length);

describe('the rows that were not read', () => {
  it('are counted with the turns that do not fit', () => {
    const sent = context([...turnOf('one', 10), asked], { omitted: 3 });
    expect(sent[0]).to.deep.equal({ role: 'system', content: 'Earlier conversation omitted (3 turns).' });
    expect(sent).to.have.length(4);
    const turns = ['one', 'two', 'three', 'four', 'five'].flatMap((name) => turnOf(name, 60));
    expect(context([...turns, asked], { omitted: 3 })[0]?.content).to.equal('Earlier conversation omitted (4 turns).');
  });

  it("exceed the model's context, or twice that with summaries; without compaction all are read", () => {
    const { budget, sizeOf } = historyLimit({ context: 400, output: 100 }, 'window');
    expect(budget).to.equal(270);
    expect(sizeOf(row('a', 'tool', 'abcd '.repeat(1_000)))).to.equal(100);
    expect(sizeOf(row('a', 'user', 'abcd '.repeat(1_000)))).to.equal(1_000);
    expect(historyLimit({ context: 400, output: 100 }, 'auto').budget).to.equal(540);
    expect(historyLimit({ context: 400 }, 'off').budget).to.equal(Number.POSITIVE_INFINITY);
  });
});

describe('the estimate of tokens', () => {
  it('counts a token per four characters of a run, and one per Han, kana or Hangul character (A41)', () => {
    const texts = ['hello world', '你好，世界', 'Hello 世界 abcde', 'internationalization', '😀😃😄😁😆', '', ' \n\t '];
    expect(texts.map(estimateTokens)).to.deep.equal([4, 5, 6, 5, 2, 0, 0]);
    expect(estimateTokens('あア한')).to.equal(3);
  });

  it('is never more than the number of characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.array(fc.string()), (text, args) => {
        const toolCalls = args.map((one) => ({ id: 'c', name: 'tool', arguments: one }));
        const message = row('t', 'assistant', text, { toolCalls });
        return estimateTokens(text) <= text.length && messageTokens(message) <= maxTokens(message);
      }),
    );
  });
});

describe('the context of a long chat', () => {
  it('contains everything while it fits', () => {
    const rows = [...turnOf('a', 100), ...turnOf('b', 100), asked];
    expect(context(rows)).to.have.length(5);
  });

  it('contains the newest turns that fit, and the number of omitted ones', () => {
    // A context of 400 less an output of 100, nine tenths of it, less 2 for the question: 268 for earlier turns.
    const rows = [...turnOf('a', 20), ...turnOf('b', 100), ...turnOf('c', 100), ...turnOf('d', 60), asked];
    const messages = context(rows);
    expect(messages[0]).to.deep.equal({ role: 'system', content: 'Earlier conversation omitted (1 turns).' });
    expect(messages.map(({ role }) => role).join(' ')).to.equal(
      'system user assistant user assistant user assistant user',
    );
    // A turn that does not fit ends the selection: older turns would leave a gap.
    const larger = [...turnOf('a', 20), ...turnOf('b', 200), ...turnOf('c', 100), ...turnOf('d', 60), asked];
    expect(context(larger)[0]?.content).to.equal('Earlier conversation omitted (2 turns).');
  });

  it('contains at least the last two turns', () => {
    const rows = [...turnOf('a', 400), ...turnOf('b', 400), ...turnOf('c', 400), asked];
    expect(context(rows)).to.have.length(6);
    expect(context([...turnOf('a', 400), ...turnOf('b', 400), asked])).to.have.length(5);
  });

  it('leaves room for the layers, the tools and the rows of the current turn', () => {
    const rows = [...turnOf('a', 100), ...turnOf('b', 100), ...turnOf('c', 60), asked];
    const layer = { name: 'base', role: 'system' as const, source: 'x', content: 'abcd '.repeat(20) };
    const omitted = (parts: Partial<ContextOptions>, more: StoredMessage[] = []) =>
      context([...rows, ...more], parts).some(({ content }) => String(content).startsWith('Earlier'));
    expect(omitted({})).to.equal(false);
    expect(omitted({ layers: [layer] })).to.equal(true);
    expect(omitted({ tools: [{ description: 'abcd '.repeat(20) }] })).to.equal(true);
    expect(omitted({}, [row('now', 'tool', 'abcd '.repeat(20), { toolCallId: 'c' })])).to.equal(true);
    expect(
      context(rows, { layers: [layer] })
        .slice(0, 2)
        .map(({ content }) => content),
    ).to.deep.equal([layer.content, 'Earlier conversation omitted (1 turns).']);
  });

  it('contains everything when compaction is off', () => {
    const rows = [...turnOf('a', 400), ...turnOf('b', 400), ...turnOf('c', 400), asked];
    expect(context(rows, { compaction: 'off' })).to.have.length(7);
  });

  it('cuts the tool texts of all but the newest three turns', () => {
    const long = (turn: string) => row(turn, 'tool', 'x'.repeat(900), { toolCallId: 'c' });
    const rows = [...['a', 'b', 'c'].map(long), asked, long('now')];
    const sent = context(rows, { limits: {} });
    expect(sizes(sent.filter(({ role }) => role === 'tool'))).to.deep.equal([500, 900, 900, 900]);
  });

  it('treats imported rows, which belong to no turn, as one turn per question', () => {
    const imported = ['a', 'b', 'c'].flatMap((name) => turnOf(name, 400).map((one) => ({ ...one, turnId: null })));
    expect(context([...imported, asked])).to.have.length(6);
  });

  it('assumes default sizes when the adapter declares none', () => {
    expect(historyBudget({}, { layers: [], tools: [], current: [] })).to.equal(Math.floor((128_000 - 16_384) * 0.9));
    expect(historyBudget({ context: 8_000 }, { layers: [], tools: [], current: [] })).to.equal(5_400);
  });
});

describe('an input that exceeds the context', () => {
  it('is refused, and one that just fits is not', () => {
    checkInput({ context: 100 }, [row('t', 'user', 'abcd '.repeat(100))]);
    let caught: unknown;
    try {
      checkInput({ context: 100 }, [row('t', 'user', 'abcd '.repeat(60)), row('t', 'user', 'abcd '.repeat(41))]);
    } catch (error) {
      caught = error;
    }
    expect(caught).to.deep.include({
      code: 'context_too_large',
      status: 400,
      details: { estimated_tokens: 101, limit: 100 },
    });
  });
});
