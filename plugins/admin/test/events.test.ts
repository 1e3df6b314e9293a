import { request } from 'node:http';
import { expect } from 'chai';
import { createTestHost, type TestHost, until } from 'mortise/sdk/testing';
import { made, send } from './support.js';

interface Following {
  /** Events so far: `[type, data]`. */
  readonly events: [string, Record<string, unknown>][];
  readonly ended: () => boolean;
  leave(): void;
}

function parse(text: string): [string, Record<string, unknown>][] {
  return [...text.matchAll(/event: (\S+)\ndata: (.*)\n\n/g)].map(([, type = '', data = '{}']) => [
    type,
    JSON.parse(data),
  ]);
}

async function follow(host: TestHost): Promise<Following> {
  const controller = new AbortController();
  const response = await host.fetch('/admin/events', { signal: controller.signal });
  expect(response.headers.get('content-type')).to.contain('text/event-stream');
  let text = '';
  let ended = false;
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk as Uint8Array, { stream: true });
  };
  void read()
    .catch(() => undefined)
    .then(() => (ended = true));
  await until(() => text.includes(': open'));
  return {
    get events() {
      return parse(text);
    },
    ended: () => ended,
    leave: () => controller.abort(),
  };
}

describe('GET /admin/events', () => {
  let host: TestHost;
  beforeEach(async () => {
    host = await createTestHost({ plugins: ['admin', 'logbook'], extra: [made('one')] });
  });
  afterEach(() => host.stop());
  const open = () => host.app.kernel.registry.find('route', 'events')?.stats.inFlight ?? 0;

  it('streams state changes, alerts and audit rows as they happen', async () => {
    const following = await follow(host);
    await send(host, '/admin/plugins/one/disable');
    host.app.kernel.events.emit('alert', { source: 'test:one', severity: 'low', code: 'tested', message: 'A test.' });
    await until(
      () => following.events.some(([type]) => type === 'alert') && following.events.some(([type]) => type === 'audit'),
    );
    const reported = following.events;
    expect(reported.filter(([type]) => type === 'plugin-state').map(([, { key, to }]) => [key, to])).to.deep.equal([
      ['one', 'draining'],
      ['one', 'disabled'],
    ]);
    expect(reported.find(([type]) => type === 'audit')?.[1]).to.include({
      operation: 'admin:disable',
      action: 'allow',
    });
    expect(reported.find(([type]) => type === 'alert')?.[1]).to.include({ code: 'tested' });
    following.leave();
  });

  it('stops its work when the client disconnects', async () => {
    const following = await follow(host);
    expect(open()).to.equal(1);
    following.leave();
    await until(() => open() === 0);
  });

  it('sends the same events to several readers', async () => {
    const readers = await Promise.all([follow(host), follow(host), follow(host)]);
    await send(host, '/admin/plugins/one/restart');
    await until(() => readers.every(({ events }) => events.some(([, { to }]) => to === 'active')));
    expect(readers[1]?.events).to.deep.equal(readers[0]?.events);
    for (const reader of readers) reader.leave();
  });

  it('drops the oldest events for a slow reader, and reports how many', async () => {
    const { hostname, port } = new URL(host.origin);
    let text = '';
    const incoming = await new Promise<import('node:http').IncomingMessage>((resolve, reject) => {
      const outgoing = request({ hostname, port, path: '/admin/events' }, resolve);
      outgoing.on('error', reject);
      outgoing.end();
    });
    incoming.pause();
    await until(() => open() === 1);
    const filler = 'x'.repeat(4_000);
    for (let index = 0; index < 8_000; index += 1) {
      host.app.kernel.events.emit('alert', {
        source: 'test:flood',
        severity: 'low',
        code: `n${index}`,
        message: filler,
      });
      if (index % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    incoming.resume();
    await until(() => text.includes('"n7999"'));
    const events = parse(text);
    const lost = events.filter(([type]) => type === 'lost').reduce((sum, [, { count }]) => sum + Number(count), 0);
    const reported = events.filter(([type]) => type === 'alert').length;
    expect(lost).to.be.above(0);
    expect(lost + reported).to.equal(8_000);
    incoming.destroy();
    await until(() => open() === 0);
  });

  it('ends with the server', async () => {
    const following = await follow(host);
    await host.stop();
    await until(() => following.ended());
    expect(following.events.map(([type]) => type)).to.include('shutdown');
  });

  it('does not delay the stop of its plugin', async () => {
    const following = await follow(host);
    const restarted = await host.control.restart('admin');
    expect(restarted.state).to.equal('active');
    await until(() => following.ended());
  });
});
