import { expect } from 'chai';
import type { MessagePage } from 'mortise/contracts/sessions';
import { chatBubbles } from '../chat-bubbles.js';

type Row = MessagePage['messages'][number];

let seq = 0;
function row(members: Partial<Row>): Row {
  seq += 1;
  return {
    id: `msg-${seq}`,
    sessionKey: 's',
    chatId: 'c',
    turnId: 'turn-1',
    turnStatus: 'completed',
    seq,
    role: 'user',
    content: '',
    status: 'complete',
    epoch: 1,
    createdAt: 0,
    ...members,
  };
}

describe('chat bubbles', () => {
  it('show one bubble per turn with its texts and tool calls', () => {
    const rows = [
      row({ content: 'hi' }),
      row({
        role: 'assistant',
        content: 'Let me check.',
        toolCalls: [
          { id: 'a', name: 'check', arguments: '{"x":1}' },
          { id: 'b', name: 'check', arguments: 'not json' },
        ],
        meta: { step: 1 },
      }),
      row({ role: 'tool', toolCallId: 'a', content: '{}', meta: { name: 'check', ok: true, summary: 'fine' } }),
      row({ role: 'assistant', content: 'Done.', meta: { step: 2, text_order: 2, tool_order: 1 } }),
      row({ turnId: 'turn-2', content: 'next' }),
    ];
    const bubbles = chatBubbles(rows).map(({ message }) => message);
    expect(bubbles.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'user']);
    expect(bubbles[1]?.content).to.deep.equal([
      { type: 'text', text: 'Let me check.' },
      { type: 'text', text: 'Done.' },
    ]);
    const notices = bubbles[1]?.metadata?.tool_call_notices as { raw: string }[];
    expect(notices.map(({ raw }) => JSON.parse(raw))).to.deep.equal([
      { type: 'tool_result', step: 1, tool_result: { name: 'check', ok: true, summary: 'fine' } },
      { type: 'tool_call', step: 1, tool_call: { name: 'check', input: { raw_arguments: 'not json' } } },
    ]);
    expect(bubbles[1]?.metadata).to.include({ text_order: 2, tool_order: 1, turn_id: 'turn-1' });
  });

  it('separate the answers of two turns and mark a turn that is not complete', () => {
    const rows = [
      row({ role: 'assistant', content: 'one', turnId: 'turn-1' }),
      row({ role: 'assistant', content: 'two', turnId: 'turn-2', turnStatus: 'running' }),
    ];
    const bubbles = chatBubbles(rows).map(({ message }) => message);
    expect(bubbles.map(({ metadata }) => metadata?.turn_status)).to.deep.equal([undefined, 'running']);
  });

  it('leave empty members out', () => {
    const [bubble] = chatBubbles([row({ content: 'hi', turnId: null })]);
    expect(bubble?.message).to.not.have.property('metadata');
  });
});
