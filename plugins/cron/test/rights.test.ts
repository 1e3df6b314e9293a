import { expect } from 'chai';
import type { Principal } from 'mortise/sdk';
import { contributing, createTestHost, oneDatabase, type TestHost, temporaryFolder } from 'mortise/sdk/testing';
import { textJob } from './platform.js';

const keys = { ann: 'key-of-ann-0123456789', bob: 'key-of-bob-0123456789', all: 'key-of-all-0123456789' };

describe('the rights of cron jobs', () => {
  oneDatabase((engine) => {
    let host: TestHost;
    const dataDir = temporaryFolder('cron');
    const callers: Principal[] = [];
    const hook = contributing(
      'channel',
      'hook',
      {},
      { sendText: async (_, { principal }) => void callers.push(principal) },
    );

    const open = (principals: readonly object[]): Promise<TestHost> =>
      createTestHost({
        plugins: ['cron', 'cron-nodes', 'admin'],
        extra: [hook],
        database: engine.env,
        dataDir,
        env: { MORTISE_API_KEYS: JSON.stringify(principals) },
      });

    before(async () => {
      host = await open([
        { id: 'ann', key: keys.ann, actor: 'ann' },
        { id: 'bob', key: keys.bob, actor: 'bob' },
        { id: 'all', key: keys.all },
      ]);
    });

    after(async function stop() {
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

    const toHook = (id: string, user: string, text: string): object => {
      const dispatch = { channel: 'hook', target: { user_id: user, session_id: 's' } };
      return textJob(id, '1h', { enabled: false, text, dispatch });
    };
    const runsAs = async (who: keyof typeof keys, id: string): Promise<unknown> => {
      callers.length = 0;
      const { status, body } = await call(who, 'POST', `/jobs/${id}/run`);
      const { error } = body as { error?: { message: string } };
      return status === 200 ? callers[0] : error?.message;
    };

    it('are the rights of the last caller that saved the job, and never wider for its user', async () => {
      await call('all', 'POST', '/jobs', toHook('shared', 'ann', 'hi'));
      expect(await runsAs('ann', 'shared')).to.include({ id: 'all' });
      await call('ann', 'POST', '/jobs', toHook('shared', 'ann', 'read the blue space'));
      expect(await runsAs('ann', 'shared')).to.include({ id: 'ann', actor: 'ann' });
      await call('all', 'POST', '/jobs', toHook('shared', 'ann', 'a typing error less'));
      expect(await runsAs('all', 'shared')).to.include({ id: 'ann', actor: 'ann' });
    });

    it('are the current rights of the key', async () => {
      await call('ann', 'POST', '/jobs', toHook('anns', 'ann', 'hi'));
      await call('bob', 'POST', '/jobs', toHook('bobs', 'bob', 'hi'));
      await host.stop();
      host = await open([
        { id: 'ann', key: keys.ann, actor: 'ann', spaces: ['team:red'], admin: true },
        { id: 'all', key: keys.all },
      ]);
      const ann = await runsAs('all', 'anns');
      expect(ann).to.include({ id: 'ann', admin: false }).and.to.have.deep.property('spaces', ['team:red']);
      expect(await runsAs('all', 'bobs')).to.match(/^the job belongs to "bob", and no key has this id any more/);
    });

    it('need a key', async () => {
      expect((await host.fetch('/cron/jobs')).status).to.equal(401);
    });
  });
});
