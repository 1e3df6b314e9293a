import { expect } from 'chai';
import { createSessionStreams } from '../event-streams.js';
import { createQueue } from '../message-queue.js';

const mebibyte = (fill: string) => JSON.stringify(fill.repeat(1_048_576 - 2));

/** Lengths of all messages of a stream that has ended. */
async function lengths(stream: AsyncIterable<string>): Promise<readonly number[]> {
  const all: number[] = [];
  for await (const text of stream) all.push(text.length);
  return all;
}

describe('the memory of event streams', () => {
  /** Publishes megabytes to one finished stream of each session. */
  const publish = (sessions: readonly string[], megabytes: number) => {
    const streams = createSessionStreams(() => 0);
    const begun = sessions.map((session) => {
      const stream = streams.begin(session);
      for (let n = 0; n < megabytes; n += 1) streams.publish(session, stream, mebibyte('x'));
      streams.finish(session, stream);
      return { session, stream };
    });
    return { streams, begun };
  };

  it('holds 8 MiB of a session for replay, and drops the oldest events first', async () => {
    const { streams, begun } = publish(['a'], 12);
    const [{ session, stream } = { session: '', stream: '' }] = begun;
    expect(await lengths(streams.read(session, stream))).to.have.length(7);
    expect(await lengths(streams.read(session, stream, 11))).to.have.length(1);
  });

  it('holds one event that is larger', async () => {
    const streams = createSessionStreams(() => 0);
    const stream = streams.begin('a');
    streams.publish('a', stream, JSON.stringify('x'.repeat(9 * 1_048_576)));
    streams.finish('a', stream);
    expect(await lengths(streams.read('a', stream))).to.have.length(1);
  });

  it('holds 128 MiB of all sessions, and drops those of the oldest sessions first', async () => {
    const sessions = Array.from({ length: 20 }, (_, n) => `s${n}`);
    const { streams, begun } = publish(sessions, 7);
    const held = [];
    for (const { session, stream } of begun) held.push((await lengths(streams.read(session, stream))).length);
    expect(held.reduce((sum, count) => sum + count, 0)).to.be.within(120, 128);
    expect(held[0]).to.equal(0);
    expect(held.at(-1)).to.equal(7);
  });

  it('cuts off a reader that is 16 MiB behind', async () => {
    const queue = createQueue();
    let accepted = 0;
    while (accepted < 100 && queue.push(mebibyte('x'))) accepted += 1;
    expect(accepted).to.equal(17);
    expect(await lengths(queue)).to.have.length(17);
  });

  it('does not cut off a reader that keeps up', async () => {
    const queue = createQueue();
    const reader = queue[Symbol.asyncIterator]();
    for (let n = 0; n < 40; n += 1) {
      expect(queue.push(mebibyte('x'))).to.equal(true);
      expect((await reader.next()).done).to.equal(false);
    }
  });
});
