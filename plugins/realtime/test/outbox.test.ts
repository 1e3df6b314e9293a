import { expect } from 'chai';
import { Outbox } from '../outbox.js';

const mebibyte = 1024 * 1024;

/** A socket that reads as much as the test says. */
class FakeSocket {
  readonly frames: { id: string; data?: { content: string; done: boolean } }[] = [];
  buffered = 0;

  send(frame: string): void {
    this.buffered += frame.length;
    this.frames.push(JSON.parse(frame));
  }

  take(bytes = this.buffered): void {
    this.buffered -= bytes;
  }
}

describe('frames for a slow reader', () => {
  let socket: FakeSocket;
  let now: number;
  let holds: number;
  let outbox: Outbox;

  beforeEach(() => {
    socket = new FakeSocket();
    now = 0;
    holds = 0;
    outbox = new Outbox(
      socket,
      () => now,
      () => {
        holds += 1;
      },
    );
  });

  it('are sent at once while there is room', () => {
    outbox.delta('a', 'one');
    outbox.delta('a', 'two');
    expect(socket.frames.map(({ data }) => data?.content)).to.deep.equal(['one', 'two']);
    expect([outbox.holds, holds]).to.deep.equal([false, 0]);
  });

  it('are held back in order, with the text of each request joined up to its next other frame', () => {
    socket.buffered = mebibyte + 1;
    outbox.delta('a', 'a1 ');
    outbox.delta('b', 'b1 ');
    outbox.delta('a', 'a2 ');
    outbox.send('a', { type: 'tool_call', id: 'a' });
    outbox.delta('a', 'a3 ');
    outbox.delta('b', 'b2 ');
    expect([socket.frames.length, holds]).to.deep.equal([0, 1]);
    socket.take();
    outbox.flush();
    expect(socket.frames.map(({ id, data }) => [id, data?.content])).to.deep.equal([
      ['a', 'a1 a2 '],
      ['b', 'b1 b2 '],
      ['a', undefined],
      ['a', 'a3 '],
    ]);
    outbox.delta('a', 'a4');
    expect(socket.frames.at(-1)?.data?.content).to.equal('a4');
  });

  it('are sent only as far as there is room', () => {
    socket.buffered = mebibyte + 1;
    for (const id of ['a', 'b', 'c']) outbox.send(id, { id, text: 'x'.repeat(mebibyte) });
    socket.take();
    outbox.flush();
    expect(socket.frames.map(({ id }) => id)).to.deep.equal(['a']);
    socket.take();
    outbox.flush();
    expect(socket.frames.map(({ id }) => id)).to.deep.equal(['a', 'b']);
    expect(outbox.holds).to.equal(true);
  });

  it('reports how long nothing was read', () => {
    outbox.send('a', { id: 'a', text: 'x'.repeat(100) });
    now = 1_000;
    expect(outbox.stalledFor()).to.equal(1_000);
    socket.take(50);
    now = 2_000;
    expect(outbox.stalledFor()).to.equal(0);
    now = 5_000;
    expect(outbox.stalledFor()).to.equal(3_000);
    socket.take();
    now = 9_000;
    expect(outbox.stalledFor()).to.equal(0);
  });

  it('report an infinite stall when there are far too many', () => {
    socket.buffered = mebibyte + 1;
    outbox.delta('a', 'x'.repeat(33 * mebibyte));
    expect(outbox.stalledFor()).to.equal(Number.POSITIVE_INFINITY);
  });
});
