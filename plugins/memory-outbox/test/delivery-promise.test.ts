import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eachDatabase, until } from 'mortise/sdk/testing';
import { type OutboxHost, startOutbox } from './outbox-host.js';

interface Health {
  readonly status: string;
  readonly checks: { readonly outbox: { readonly ok: boolean; readonly detail: string } };
}

/** What the answer of a store says about delivery when the backend does not accept the memory. */
async function promised(host: OutboxHost, text: string): Promise<string> {
  host.server.fail('add', { kind: 'success-false' });
  const { message } = await host.store(text);
  return /\) and (will be [^;]*);/.exec(String(message))?.[1] ?? String(message);
}

async function outboxHealth(host: OutboxHost) {
  const { checks } = (await host.get('/health?deep=1')).body as unknown as Health;
  return checks.outbox;
}

describe('what a memory in the outbox is promised', () => {
  eachDatabase((engine) => {
    it('is delivery once the plugin is active, or by a worker that runs elsewhere', async () => {
      const host = await startOutbox(engine, { config: { 'memory-outbox': { batch_size: 0 } } });
      try {
        expect(stateOf(host)).to.equal('blocked');
        expect(await promised(host, 'One')).to.equal('will be delivered once the plugin memory-outbox is active');
        const { ok, detail } = await outboxHealth(host);
        expect([ok, detail]).to.deep.equal([
          false,
          '1 pending, 0 dead; the plugin memory-outbox is not active, so nothing is delivered',
        ]);

        const file = join(host.host.configDir, 'memory-outbox.json');
        await writeFile(file, '{"batch_size": 10}');
        await until('the outbox to be active', () => stateOf(host) === 'active');
        // The worker of this host is off.
        expect(await promised(host, 'Two')).to.equal('will be delivered by the next run of an outbox worker');
        expect((await outboxHealth(host)).ok).to.equal(true);
      } finally {
        await host.stop();
      }
    });

    it('is automatic delivery while the worker runs', async () => {
      const host = await startOutbox(engine, { env: { MORTISE_OUTBOX_WORKER: 'true' } });
      try {
        expect(await promised(host, 'One')).to.equal('will be delivered automatically');
        expect((await outboxHealth(host)).ok).to.equal(true);
      } finally {
        await host.stop();
      }
    });
  });
});

function stateOf({ host }: OutboxHost): string | undefined {
  return host.control.list().find(({ key }) => key === 'memory-outbox')?.state;
}
