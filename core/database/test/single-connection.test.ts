import { expect } from 'chai';
import { until } from '../../sdk/testing/until.js';
import { type LentConnection, SingleConnection } from '../single-connection.js';
import { errorOf } from './expect-error.js';

/** A connection with a number. */
class Numbered implements LentConnection {
  readonly number: number;
  open = true;
  __knex__disposed: unknown;

  constructor(number: number) {
    this.number = number;
  }

  close(): void {
    this.open = false;
  }
}

describe('the single connection', () => {
  let made: Numbered[];
  let failing: Error | undefined;

  beforeEach(() => {
    made = [];
    failing = undefined;
  });

  function lender(limitMs = 10_000): SingleConnection<Numbered> {
    return new SingleConnection(() => {
      if (failing !== undefined) throw failing;
      const connection = new Numbered(made.length + 1);
      made.push(connection);
      return connection;
    }, limitMs);
  }

  const takeFree = (connections: SingleConnection<Numbered>): Numbered => {
    const connection = connections.take();
    expect(connection, 'it is not free').to.be.instanceOf(Numbered);
    return connection as Numbered;
  };

  it('is opened on first use, and is returned synchronously while it is free', () => {
    const connections = lender();
    expect(connections.reading()).to.deep.equal({ used: 0, free: 0, pending: 0 });
    const first = takeFree(connections);
    expect(connections.reading()).to.deep.equal({ used: 1, free: 0, pending: 0 });
    expect(connections.release(first)).to.equal(true);
    expect(connections.reading()).to.deep.equal({ used: 0, free: 1, pending: 0 });
    expect(takeFree(connections)).to.equal(first);
    expect(made).to.have.length(1);
  });

  it('is granted in the order of the requests', async () => {
    const connections = lender();
    const first = takeFree(connections);
    const order: string[] = [];
    const use = async (name: string): Promise<void> => {
      const connection = await connections.take();
      order.push(`${name} ${connections.reading().used}`);
      await Promise.resolve();
      // A request made between two others is behind both.
      if (name === 'a') late = use('late');
      connections.release(connection);
    };
    let late: Promise<void> | undefined;
    const waiting = [use('a'), use('b'), connections.acquire().promise.then((lent) => connections.release(lent))];
    expect(connections.reading()).to.deep.equal({ used: 1, free: 0, pending: 3 });
    connections.release(first);
    // Already lent to the oldest request, although its caller has not continued yet.
    expect(connections.reading()).to.deep.equal({ used: 1, free: 0, pending: 2 });
    const c = use('c');
    await Promise.all([...waiting, c]);
    await late;
    expect(order).to.deep.equal(['a 1', 'b 1', 'c 1', 'late 1']);
    expect(connections.reading()).to.deep.equal({ used: 0, free: 1, pending: 0 });
    expect(made).to.have.length(1);
  });

  it('can only be released by its borrower', () => {
    const connections = lender();
    const stranger = new Numbered(9);
    expect(connections.release(stranger)).to.equal(false);
    const first = takeFree(connections);
    expect(connections.release(stranger)).to.equal(false);
    expect(connections.reading().used).to.equal(1);
    expect(connections.release(first)).to.equal(true);
    expect(connections.release(first)).to.equal(false);
  });

  it('is waited for up to the limit of each caller, which then leaves the queue', async () => {
    const limitMs = 1_000;
    const connections = lender(limitMs);
    const first = takeFree(connections);
    const impatient = [connections.take(), connections.take()].map((asked) => errorOf(Promise.resolve(asked)));
    for (const error of await Promise.all(impatient)) {
      expect(error).to.include({ code: 'database_unavailable', retryable: true });
      expect((error.cause as Error).message).to.include('1000 ms');
    }
    expect(connections.reading()).to.deep.equal({ used: 1, free: 0, pending: 0 });

    const third = Promise.resolve(connections.take());
    const began = performance.now();
    await until('a part of its limit is over', () => performance.now() - began > 100);
    connections.release(first);
    expect(await third).to.equal(first);
    // The timer of a served request does not limit the next one.
    const asked = performance.now();
    expect(await errorOf(Promise.resolve(connections.take()))).to.include({ code: 'database_unavailable' });
    expect(performance.now() - asked).to.be.at.least(limitMs - 5);
    connections.release(first);
    expect(takeFree(connections)).to.equal(first);
  });

  it('keeps its process alive while a caller waits, with one timer for all', () => {
    const connections = lender();
    const first = takeFree(connections);
    const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
    const before = timers();
    for (let round = 0; round < 2; round += 1) {
      const waiting = [connections.take(), connections.take()];
      expect(timers()).to.equal(before + 1);
      connections.release(first);
      expect(timers()).to.equal(before + 1);
      connections.release(first);
      expect(timers()).to.equal(before);
      expect(waiting).to.have.length(2);
    }
  });

  it('is reopened for the next caller after it was closed or knex marked it as unusable', async () => {
    const connections = lender();
    const first = takeFree(connections);
    const waiting = Promise.resolve(connections.take());
    first.close();
    expect(connections.release(first)).to.equal(true);
    const second = await waiting;
    expect(second.number).to.equal(2);
    second.__knex__disposed = new Error('a query took too long');
    connections.release(second);
    expect(takeFree(connections).number).to.equal(3);
    expect(made.map((one) => one.open)).to.deep.equal([false, false, true]);
  });

  it('fails for every caller until it can be opened', async () => {
    const connections = lender();
    const first = takeFree(connections);
    const waiting = [connections.take(), connections.take()].map((asked) => errorOf(Promise.resolve(asked)));
    first.close();
    failing = new Error('no such folder');
    connections.release(first);
    expect(await Promise.all(waiting)).to.deep.equal([failing, failing]);
    expect(() => connections.take()).to.throw('no such folder');
    expect(connections.reading()).to.deep.equal({ used: 0, free: 0, pending: 0 });
    failing = undefined;
    expect(takeFree(connections).number).to.equal(2);
  });

  it('refuses waiting callers when it is closed, and closes once it is released', async () => {
    const connections = lender();
    const first = takeFree(connections);
    const waiting = errorOf(Promise.resolve(connections.take()));
    let closed = false;
    const closing = connections.destroy().then(() => {
      closed = true;
    });
    expect(await waiting).to.include({ code: 'database_closed' });
    expect(() => connections.take()).to.throw('is closed');
    expect(await errorOf(connections.acquire().promise)).to.include({ code: 'database_closed' });
    expect([closed, first.open]).to.deep.equal([false, true]);
    expect(connections.release(first)).to.equal(true);
    await Promise.all([closing, connections.destroy()]);
    expect(first.open).to.equal(false);
    expect(connections.reading()).to.deep.equal({ used: 0, free: 0, pending: 0 });
  });

  it('closes immediately when it is idle or was never opened', async () => {
    const connections = lender();
    const first = takeFree(connections);
    connections.release(first);
    await connections.destroy();
    expect(first.open).to.equal(false);
    await lender().destroy();
    expect(made).to.have.length(1);
  });
});
