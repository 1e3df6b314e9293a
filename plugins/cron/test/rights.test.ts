import { expect } from 'chai';
import { createTestHost, oneDatabase, type TestHost } from 'mortise/sdk/testing';
import { textJob } from './platform.js';

const keys = { ann: 'key-of-ann-0123456789', bob: 'key-of-bob-0123456789', all: 'key-of-all-0123456789' };

describe('the rights of cron jobs', () => {
  oneDatabase(() => {
    let host: TestHost;

    before(async function start() {
      this.timeout(30_000);
      host = await createTestHost({
        plugins: ['cron', 'cron-nodes', 'admin'],
        env: {
          MORTISE_API_KEYS: JSON.stringify([
            { id: 'ann', key: keys.ann, actor: 'ann' },
            { id: 'bob', key: keys.bob, actor: 'bob' },
            { id: 'all', key: keys.all },
          ]),
        },
      });
    });

    after(async function stop() {
      this.timeout(20_000);
      await host.stop();
    });

    async function call(who: keyof typeof keys, method: string, path: string, body?: object) {
      const headers = { 'x-api-key': keys[who], ...(body ? { 'content-type': 'application/json' } : {}) };
      const response = await host.fetch(`/cron${path}`, {
        method,
        headers,
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      return { status: response.status, body: (await response.json()) as unknown };
    }
    const jobOf = (user: string) =>
      textJob(`of-${user}`, '1h', { enabled: false, dispatch: { target: { user_id: user, session_id: 's' } } });

    it('bind a key with a user to the jobs of this user', async () => {
      expect((await call('ann', 'POST', '/jobs', jobOf('ann'))).status).to.equal(200);
      expect((await call('bob', 'POST', '/jobs', jobOf('bob'))).status).to.equal(200);
      expect((await call('ann', 'POST', '/jobs', jobOf('bob'))).status).to.equal(403);
      expect((await call('ann', 'GET', '/jobs')).body).to.have.length(1);
      expect((await call('all', 'GET', '/jobs')).body).to.have.length(3);
      for (const [method, path] of [
        ['GET', ''],
        ['POST', '/pause'],
        ['POST', '/run'],
        ['GET', '/runs'],
        ['GET', '/slots'],
      ] as const) {
        expect((await call('ann', method, `/jobs/of-bob${path}`)).status, path).to.equal(404);
      }
      expect((await call('ann', 'DELETE', '/jobs/of-bob')).body).to.deep.equal({ deleted: false });
      const stolen = textJob('of-bob', '1h', { dispatch: { target: { user_id: 'ann', session_id: 's' } } });
      expect((await call('ann', 'POST', '/jobs', stolen)).status).to.equal(403);
      const { body } = await call('bob', 'POST', '/jobs/of-bob/run?wait=false');
      const { run_id } = body as { run_id: string };
      expect((await call('ann', 'GET', `/runs/${run_id}`)).status).to.equal(404);
      expect((await call('ann', 'POST', `/runs/${run_id}/cancel`)).status).to.equal(404);
      expect((await call('bob', 'GET', `/runs/${run_id}`)).status).to.equal(200);
    });

    it('need a key', async () => {
      expect((await host.fetch('/cron/jobs')).status).to.equal(401);
    });
  });
});
