import { expect } from 'chai';
import { createClientRequests } from '../sessions/open-requests.js';
import { testSession as session } from './support.js';

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

describe('requests to a client', () => {
  const pending = (requests = createClientRequests(), signal = new AbortController().signal) => {
    let id = '';
    const send = (json: string) => {
      id = (JSON.parse(json) as { id: string }).id;
    };
    const answer = requests.ask(session, send, { method: 'roots/list' }, signal).then(
      (value) => value,
      (error: Error) => error.message,
    );
    return { requests, answer, id: () => id };
  };

  it('accept one answer, of the client that was asked', async () => {
    const { requests, answer, id } = pending();
    expect(requests.settle('mcps_b', id(), { result: { roots: [] } })).to.equal(false);
    expect(requests.settle('mcps_a', 'another', { result: { roots: [] } })).to.equal(false);
    expect(requests.settle('mcps_a', id(), { result: { roots: [] } })).to.equal(true);
    expect(requests.settle('mcps_a', id(), { result: { roots: [] } })).to.equal(false);
    expect(await answer).to.deep.equal({ roots: [] });
  });

  it('fail when the client answers with an error or an invalid result, or its session ends', async () => {
    const refused = pending();
    refused.requests.settle('mcps_a', refused.id(), { error: { code: -1, message: 'no' } });
    expect(await refused.answer).to.equal('The client refused the request for input.');
    const invalid = pending();
    invalid.requests.settle('mcps_a', invalid.id(), { result: { roots: 5 } });
    expect(await invalid.answer).to.equal('The answer does not have the requested form.');
    const over = pending();
    over.requests.drop('mcps_a');
    expect(await over.answer).to.equal('The session has ended.');
  });

  it('end with the endpoint, because their timers would keep a stopped process alive', async () => {
    const before = timers();
    const { requests, answer } = pending();
    expect(timers()).to.equal(before + 1);
    requests.close();
    // Counted before anything is awaited: the test runner sets a timer of its own then.
    expect(timers()).to.equal(before);
    expect(await answer).to.equal('The server is stopping.');
  });
});
