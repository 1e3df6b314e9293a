import { expect } from 'chai';
import { readEventData } from '../server-sent-events.js';

async function* bytesOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function dataOf(text: string, size = 1_000, most = 100): Promise<string[]> {
  const found: string[] = [];
  for await (const data of readEventData(bytesOf(text, size), most)) found.push(data);
  return found;
}

describe('the data of server-sent events', () => {
  it('is read from any chunks, without comments and other fields', async () => {
    const text = ': hello\n\nevent: a\nid: 1\ndata: 你好 👩‍👩‍👧‍👦\n\ndata: two\r\ndata: lines\r\n\r\nretry: 5\n\n';
    for (const size of [1, 2, 3, 5, 1_000]) {
      expect(await dataOf(text, size), String(size)).to.deep.equal(['你好 👩‍👩‍👧‍👦', 'two\nlines']);
    }
  });

  it('includes an event without its blank line at the end', async () => {
    expect(await dataOf('data: one\n\ndata: last')).to.deep.equal(['one', 'last']);
  });

  it('is emitted before more is read', async () => {
    let isRead = false;
    const parts = async function* (): AsyncGenerator<Uint8Array> {
      yield new TextEncoder().encode('data: one\n\n');
      isRead = true;
    };
    for await (const data of readEventData(parts(), 100)) {
      expect([data, isRead]).to.deep.equal(['one', false]);
    }
  });

  it('is refused when an event is too long', async () => {
    const error = await dataOf(`data: ${'x'.repeat(200)}\n\n`, 10).catch(({ code }) => code);
    expect(error).to.equal('event_too_long');
  });
});
