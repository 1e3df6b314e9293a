import { expect } from 'chai';
import fc from 'fast-check';
import type { StoredMessage } from 'mortise/contracts/sessions';
import type { ModelToolCall } from 'mortise/sdk';
import { rounds } from 'mortise/sdk/testing';
import { modelMessages, repairHistory } from '../history-repair.js';
import { readToolCalls } from '../store/rows.js';

type Row = Pick<StoredMessage, 'role' | 'content' | 'toolCalls' | 'toolCallId'>;

const call = (id: string): ModelToolCall => ({ id, name: 'echo', arguments: '{}' });
const asks = (...ids: string[]): Row => ({ role: 'assistant', content: '', toolCalls: ids.map(call) });
const answers = (id: string, content = id): Row => ({ role: 'tool', content, toolCallId: id });
const says = (content: string): Row => ({ role: 'assistant', content });
const user: Row = { role: 'user', content: 'hi' };

/** What every provider insists on. */
function isValid(rows: readonly Row[]): boolean {
  for (let index = 0; index < rows.length; ) {
    const row = rows[index];
    index += 1;
    if (row?.role === 'tool') return false;
    for (const { id } of row?.toolCalls ?? []) {
      if (rows[index]?.role !== 'tool' || rows[index]?.toolCallId !== id) return false;
      index += 1;
    }
    if (row?.role === 'assistant' && row.content.trim() === '' && !row.toolCalls?.length) return false;
  }
  return true;
}

describe('history repair', () => {
  it('does not change a correct history', () => {
    const rows = [user, asks('a', 'b'), answers('a'), answers('b'), says('done'), user, says('ok')];
    expect(repairHistory(rows)).to.deep.equal(rows);
  });

  it('adds a result to an interrupted call, so that the model knows that it may have acted', () => {
    const [, , first, second] = repairHistory([user, asks('a', 'b'), answers('b'), user]);
    expect(first).to.include({ role: 'tool', toolCallId: 'a' });
    expect(JSON.parse(first?.content ?? '')).to.include({ error_code: 'INTERRUPTED' });
    expect(second).to.deep.equal(answers('b'));
  });

  it('puts results in the order of the calls and keeps the first of two', () => {
    const repaired = repairHistory([asks('a', 'b'), answers('b'), answers('a'), answers('a', 'again')]);
    expect(repaired.map(({ content }) => content)).to.deep.equal(['', 'a', 'b']);
  });

  it('leaves out results without a call and assistant rows without text or calls', () => {
    expect(repairHistory([answers('x'), user, says('  '), says('ok'), answers('y')])).to.deep.equal([user, says('ok')]);
  });

  it('treats a row whose stored calls are malformed as plain text', () => {
    for (const stored of [null, {}, [], [{}], [{ id: 'a' }], [{ id: 'a', function: { name: 'x', arguments: 1 } }]]) {
      expect(readToolCalls(stored), JSON.stringify(stored)).to.equal(undefined);
    }
    const twice = { id: 'a', function: { name: 'x', arguments: '{}' } };
    expect(readToolCalls([twice, twice])).to.equal(undefined);
  });

  it('makes every history valid, and is idempotent', () => {
    const ids = fc.constantFrom('a', 'b', 'c');
    const row = fc.oneof(
      fc.constant(user),
      fc.constantFrom(says(''), says('text')),
      fc.uniqueArray(ids, { minLength: 1 }).map((list) => asks(...list)),
      ids.map((id) => answers(id)),
    );
    fc.assert(
      fc.property(fc.array(row, { maxLength: 20 }), (rows) => {
        const once = repairHistory(rows);
        expect(isValid(once)).to.equal(true);
        expect(repairHistory(once)).to.deep.equal(once);
      }),
      { numRuns: rounds(500, 10_000) },
    );
  });

  it('returns rows in the form that providers need', () => {
    const row = { ...asks('a'), meta: { opaque: 'thinking' } } as unknown as StoredMessage;
    const [assistant, tool] = modelMessages([row]);
    expect(assistant).to.deep.equal({ role: 'assistant', content: '', toolCalls: [call('a')], opaque: 'thinking' });
    expect(tool).to.include({ role: 'tool', toolCallId: 'a' });
  });
});
