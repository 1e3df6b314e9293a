import { expect } from 'chai';
import { openStoredSnapshot } from '../stored-snapshot.js';

/** A store whose reads the test resolves, and a host that records its registrations. */
function store() {
  const reads: { resolve: (value: string) => void; reject: (error: Error) => void }[] = [];
  let notified = (): void => undefined;
  const warnings: unknown[] = [];
  const sent: unknown[] = [];
  const log = { warn: (fields: unknown) => void warnings.push(fields) } as never;
  const opened = openStoredSnapshot<string>(
    { log, own: (owned) => owned, every: () => ({ dispose() {} }) },
    {
      database: {
        async listen(_channel: string, run: (payload: string) => void) {
          notified = () => run('');
          return { dispose() {} };
        },
        transaction: (run: (trx: never) => unknown) => run('own' as never),
        notify: async (channel: string, payload: string, options: { trx: never }) => {
          sent.push([channel, payload, options.trx]);
        },
      } as never,
      channel: 'rows',
      read: () => new Promise((resolve, reject) => reads.push({ resolve, reject })),
    },
  );
  return { opened, reads, warnings, sent, notify: () => notified() };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a snapshot of stored rows', () => {
  it('has the rows of the first read when it opens, and new ones after a notification', async () => {
    const { opened, reads, notify } = store();
    reads[0]?.resolve('first');
    const snapshot = await opened;
    expect(snapshot.current).to.equal('first');
    notify();
    reads[1]?.resolve('second');
    await settled();
    expect(snapshot.current).to.equal('second');
  });

  it("is changed in a transaction with its notification, and read again unless the transaction is the caller's", async () => {
    const { opened, reads, sent } = store();
    reads[0]?.resolve('first');
    const snapshot = await opened;
    const written: unknown[] = [];
    const write = async (trx: unknown) => written.push(trx);
    await snapshot.change('one', write, 'outer' as never);
    expect([snapshot.current, reads.length]).to.deep.equal(['first', 1]);
    const changed = snapshot.change('two', write);
    await settled();
    reads[1]?.resolve('second');
    await changed;
    expect(snapshot.current).to.equal('second');
    expect(written).to.deep.equal(['outer', 'own']);
    expect(sent).to.deep.equal([
      ['rows', 'one', 'outer'],
      ['rows', 'two', 'own'],
    ]);
  });

  it('reads once more after changes during a read, regardless of their number', async () => {
    const { opened, reads } = store();
    reads[0]?.resolve('first');
    const snapshot = await opened;
    const running = snapshot.refresh();
    const [one, two] = [snapshot.refresh(), snapshot.refresh()];
    reads[1]?.resolve('before the change');
    expect(await running).to.equal('before the change');
    await settled();
    reads[2]?.resolve('after the change');
    expect(await Promise.all([one, two])).to.deep.equal(['after the change', 'after the change']);
    expect(reads).to.have.length(3);
  });

  it('keeps the last rows when they cannot be read again, and reports it', async () => {
    const { opened, reads, warnings, notify } = store();
    reads[0]?.resolve('first');
    const snapshot = await opened;
    notify();
    reads[1]?.reject(new Error('down'));
    await settled();
    expect([snapshot.current, warnings.length]).to.deep.equal(['first', 1]);
    const failing = snapshot.refresh();
    reads[2]?.reject(new Error('down'));
    expect(await failing.catch((error: Error) => error.message)).to.equal('down');
    const again = snapshot.refresh();
    reads[3]?.resolve('up');
    expect(await again).to.equal('up');
  });
});
