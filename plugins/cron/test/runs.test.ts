import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { fakeModel } from 'mortise/contracts/agent/testing';
import { type Alert, MortiseError, type Principal } from 'mortise/sdk';
import { contributing, eachDatabase, until } from 'mortise/sdk/testing';
import type { CronJobState, CronRun } from '../contract/index.js';
import { type CronHost, openCron, says } from './platform.js';

describe('runs of cron jobs', () => {
  eachDatabase(
    (engine) => {
      let cron: CronHost;
      const sent: { text: string; deliveryId: string; principal: Principal }[] = [];
      const aborted: string[] = [];
      const alerts: Alert[] = [];
      const tries = new Map<string, number>();
      /** What the text `held` waits for. */
      let held = Promise.resolve();

      const hook = contributing(
        'channel',
        'hook',
        {},
        {
          async sendText({ text, deliveryId, sessionId, userId }, { principal, signal }) {
            if (text === 'refuse')
              throw new MortiseError('channel_failed', 'the receiver answered 500', { status: 502 });
            const tried = (tries.get(deliveryId) ?? 0) + 1;
            tries.set(deliveryId, tried);
            if (/^(Re: )?flaky$/.test(text) && tried < 3)
              throw new MortiseError('channel_failed', 'not yet', { status: 502 });
            if (text === 'slow') {
              await sleep(60_000, undefined, { signal }).catch(() => aborted.push(deliveryId));
              signal.throwIfAborted();
            }
            if (text === 'held') {
              await held;
              signal.throwIfAborted();
            }
            sent.push({ text: `${userId}/${sessionId}: ${text}`, deliveryId, principal });
          },
        },
      );

      const model = fakeModel(async function* ({ messages }, _call, signal) {
        const text = String(messages.at(-1)?.content);
        if (text === 'hang') await sleep(60_000, undefined, { signal });
        yield* says(`Re: ${text}`);
      });

      before(async () => {
        cron = await openCron(engine, {
          model,
          extra: [
            hook,
            {
              manifest: { key: 'listener' },
              definition: {
                key: 'listener',
                register() {},
                start: (host) => void host.on('alert', (alert) => alerts.push(alert)),
              },
            },
          ],
          env: { MORTISE_CRON_LEASE_SECONDS: '2' },
        });
      });

      after(async function stop() {
        await cron.host.stop();
      });

      const target = { user_id: 'u1', session_id: 's1' };
      const manual = (more: object = {}) => ({ enabled: false, ...more });
      const toHook = (text: string, more: object = {}) =>
        manual({ text, dispatch: { channel: 'hook', target }, ...more });
      const stateOf = async (id: string): Promise<CronJobState> => (await cron.call('GET', `/jobs/${id}/state`)).body;
      const run = async (id: string) => {
        const { status, body } = await cron.call('POST', `/jobs/${id}/run`);
        const { error, run_id } = body as {
          run_id?: string;
          error?: { code: string; message: string; details: object };
        };
        return { status, run_id, code: error?.code, message: error?.message };
      };
      const runOf = async (id: string): Promise<CronRun> => (await cron.call('GET', `/runs/${id}`)).body;
      const start = async (id: string): Promise<string> => {
        const { status, body } = await cron.call('POST', `/jobs/${id}/run?wait=false`);
        expect(status).to.equal(202);
        const { run_id } = body as { run_id: string };
        await until('the run to begin', async () => (await runOf(run_id)).status === 'running');
        return run_id;
      };

      it('send the text to another channel without a model, with the key of the slot', async () => {
        await cron.save('raw', '1h', toHook('hi'));
        const { run_id, status } = await run('raw');
        expect(status).to.equal(200);
        expect(sent.at(-1)).to.deep.include({ text: 'u1/s1: hi', deliveryId: `cron:raw:${run_id}` });
        expect(model.requests).to.have.length(0);
      });

      it('work for the owner of the job, without the admin right', async () => {
        await cron.save('owned', '1h', toHook('hi'));
        await run('owned');
        expect(sent.at(-1)?.principal).to.deep.include({ id: 'local', admin: false });
      });

      it('report why a channel did not accept the text', async () => {
        await cron.save('refused', '1h', toHook('refuse'));
        const message = 'failed to dispatch cron job to channel "hook": the receiver answered 500';
        expect(await run('refused')).to.deep.include({ status: 500, code: 'cron_run_failed', message });
        expect(await stateOf('refused')).to.deep.include({ last_status: 'failed', last_error: message });
      });

      it('refuse channels that cannot be a target', async () => {
        await cron.save('qq', '1h', manual({ dispatch: { channel: 'qq', target } }));
        expect((await run('qq')).message).to.contain('inbound-only');
        await cron.save('nowhere', '1h', manual({ dispatch: { channel: 'nowhere', target } }));
        expect((await run('nowhere')).message).to.equal('channel "nowhere" is not supported');
        await cron.save('targetless', '1h', manual({ dispatch: {} }));
        expect((await run('targetless')).message).to.equal(
          'cron dispatch target requires non-empty session_id and user_id',
        );
      });

      it('end at their time limit, and so does their work', async () => {
        await cron.save('limited', '1h', toHook('slow', { runtime: { timeout_seconds: 1 } }));
        const { message, status } = await run('limited');
        expect([status, message]).to.deep.equal([500, 'cron execution timeout after 1s']);
        expect(aborted.some((key) => key.startsWith('cron:limited:'))).to.equal(true);
        await cron.save('hanging', '1h', manual({ text: 'hang', runtime: { timeout_seconds: 1 } }));
        expect((await run('hanging')).message).to.equal('cron execution timeout after 1s');
        await until('the model call to be aborted', () => model.signals.at(-1)?.aborted === true);
      });

      it('are refused while all leases of the job are taken, and do not block other jobs', async () => {
        await cron.save('busy', '1h', toHook('slow'));
        const first = await start('busy');
        expect(await run('busy')).to.deep.include({ status: 409, code: 'cron_busy' });
        expect(await stateOf('busy')).to.deep.include({
          last_status: 'failed',
          last_error: 'max_concurrency limit reached (1)',
        });
        expect((await run('raw')).status).to.equal(200);
        await cron.call('POST', `/runs/${first}/cancel`);
      });

      it('are cancelled, and their work with them', async () => {
        await cron.save('cancelled', '1h', toHook('slow'));
        const id = await start('cancelled');
        expect((await cron.call('POST', `/runs/${id}/cancel`)).body).to.deep.equal({ cancelled: true });
        await until('the end', async () => (await runOf(id)).status === 'cancelled');
        expect(aborted).to.include(`cron:cancelled:${id}`);
        expect(await stateOf('cancelled')).to.deep.include({ last_status: 'failed', last_error: 'run cancelled' });
        expect((await cron.call('POST', `/runs/${id}/cancel`)).body).to.deep.equal({ cancelled: false });
      });

      it('end normally when the caller who waits for them disconnects', async () => {
        let release: () => void = () => undefined;
        held = new Promise((resolve) => {
          release = resolve;
        });
        await cron.save('left', '1h', toHook('held'));
        const gone = new AbortController();
        const waiting = cron.host.fetch('/cron/jobs/left/run', { method: 'POST', signal: gone.signal });
        const started = async () => (await cron.runs('left'))[0]?.status === 'running';
        await until('the run to begin', started);
        gone.abort();
        await waiting.then(
          () => expect.fail('the caller got an answer'),
          () => undefined,
        );
        release();
        await until('its end', async () => (await cron.runs('left'))[0]?.status === 'succeeded');
        expect(sent.at(-1)?.text).to.equal('u1/s1: held');
      });

      it('are cancelled when their job is deleted', async () => {
        await cron.save('deleted', '1h', toHook('slow'));
        const id = await start('deleted');
        expect((await cron.call('DELETE', '/jobs/deleted')).body).to.deep.equal({ deleted: true });
        await until('the abort', () => aborted.includes(`cron:deleted:${id}`));
        expect(await runOf(id)).to.deep.include({ status: 'cancelled', error: 'job deleted' });
      });

      it('are repeated after failures with the same key, and the ledger has the last outcome', async () => {
        await cron.save('flaky', '1s', {
          ...toHook('flaky'),
          enabled: true,
          runtime: { max_attempts: 3, retry_backoff_seconds: 1, overlap_policy: 'queue' },
        });
        await until(
          'three attempts',
          async () => (await cron.slots('flaky')).some((slot) => slot.attempts === 3 && slot.outcome === 'succeeded'),
          20_000,
        );
        await cron.call('POST', '/jobs/flaky/pause');
        const slot = (await cron.slots('flaky')).find(({ attempts }) => attempts === 3);
        const attempts = (await cron.runs('flaky'))
          .filter(({ scheduled_at }) => scheduled_at === slot?.scheduled_at)
          .reverse();
        expect(attempts.map(({ attempt, trigger, status }) => [attempt, trigger, status])).to.deep.equal([
          [1, 'schedule', 'failed'],
          [2, 'retry', 'failed'],
          [3, 'retry', 'succeeded'],
        ]);
        expect(slot?.run_id).to.equal(attempts[2]?.run_id);
        expect(sent.map(({ deliveryId }) => deliveryId)).to.include(`cron:flaky:${slot?.scheduled_at}`);
      });

      it('send the reply of a turn until its channel accepts it, and do what the slot began with', async () => {
        const job = {
          text: 'flaky',
          dispatch: { channel: 'hook', mode: 'agent', target },
          runtime: { max_attempts: 3, retry_backoff_seconds: 1, overlap_policy: 'queue' },
        };
        const asked = () => model.requests.filter(({ messages }) => messages.at(-1)?.content === 'flaky').length;
        const before = asked();
        await cron.save('answers', '1s', job);
        await until('an attempt that failed', async () =>
          (await cron.runs('answers')).some((one) => one.attempt === 2),
        );
        await cron.save('answers', '1h', { ...job, text: 'edited meanwhile' });
        await until('the reply', () => sent.some(({ text }) => text === 'u1/s1: Re: flaky'), 20_000);
        const key = sent.find(({ text }) => text === 'u1/s1: Re: flaky')?.deliveryId ?? '';
        expect(key).to.match(/^cron:answers:/);
        const at = key.slice('cron:answers:'.length);
        await until('its end', async () =>
          (await cron.slots('answers')).some((slot) => slot.scheduled_at === at && slot.outcome === 'succeeded'),
        );
        const attempts = (await cron.runs('answers')).filter(({ scheduled_at }) => scheduled_at === at);
        expect(attempts.map(({ status }) => status)).to.deep.equal(['succeeded', 'failed', 'failed']);
        expect(tries.get(key)).to.equal(3);
        const slots = (await cron.slots('answers')).filter(({ attempts: made }) => made > 0).length;
        expect(asked() - before, 'one turn per slot').to.equal(slots);
      });

      it('raise an alert when a job keeps failing', async () => {
        await cron.save('failing', '1h', toHook('refuse'));
        const raised = () => alerts.filter(({ source }) => source === 'cron:failing').map(({ data }) => data?.failures);
        for (let times = 0; times < 7; times += 1) await run('failing');
        expect(raised()).to.deep.equal([3, 6]);
      });

      it('wait for a lease that a file of another tool holds', async () => {
        await cron.save('file', '1h', toHook('hi'));
        const folder = join(cron.host.dataDir, 'data', 'cron-leases', Buffer.from('file').toString('base64url'));
        await mkdir(folder, { recursive: true });
        const write = (at: number) =>
          writeFile(join(folder, 'slot-0.json'), JSON.stringify({ expires_at: new Date(at) }));
        await write(Date.now() + 60_000);
        expect(await run('file')).to.deep.include({ status: 409, code: 'cron_busy' });
        await write(Date.now() - 1);
        expect((await run('file')).status).to.equal(200);
        await rm(folder, { recursive: true });
      });

      it('become turns in the session, whose reply is in the run', async () => {
        await cron.save(
          'turn',
          '1h',
          manual({ text: 'hello', request: { biz_params: { cron: 1, tool: 2, _x: 3, max_steps: 2 } } }),
        );
        const { run_id } = await run('turn');
        expect(await runOf(run_id ?? '')).to.deep.include({ status: 'succeeded', result: 'Re: hello' });
      });

      it('are listed in pages without gaps or repeats', async () => {
        const ids: string[] = [];
        let cursor: string | null = '';
        while (cursor !== null) {
          const response: Response = await cron.host.fetch(
            `/cron/jobs/failing/runs?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
          );
          ids.push(...((await response.json()) as CronRun[]).map((one) => one.run_id));
          cursor = response.headers.get('x-next-cursor');
        }
        expect(ids).to.have.length(7);
        expect(ids).to.deep.equal((await cron.runs('failing')).map((one) => one.run_id));
        const { body } = await cron.call('GET', '/jobs/failing/runs?status=succeeded');
        expect(body).to.deep.equal([]);
        expect((await cron.call('GET', '/jobs/failing/runs?limit=0')).status).to.equal(400);
        expect((await cron.call('GET', '/jobs/failing/slots?from=yesterday')).status).to.equal(400);
      });

      it('are visible while they happen', async () => {
        await cron.save('watched', '1h', toHook('hi'));
        const gone = new AbortController();
        const response = await cron.host.fetch('/cron/events?job_id=watched', { signal: gone.signal });
        const seen: string[] = [];
        const reading = (async () => {
          const decoder = new TextDecoder();
          for await (const chunk of response.body ?? []) seen.push(decoder.decode(chunk));
        })().catch(() => undefined);
        await until('the stream', () => seen.length > 0);
        await run('raw');
        await run('watched');
        await until('its end', () => seen.join('').includes('"status":"succeeded"'));
        gone.abort();
        await reading;
        expect(seen.join('')).to.contain('"status":"running"').and.not.to.contain('"job_id":"raw"');
      });
    },
    { keepRows: true },
  );
});
