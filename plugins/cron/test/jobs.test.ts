import { expect } from 'chai';
import { eachDatabase, until } from 'mortise/sdk/testing';
import type { CronJobState } from '../contract/index.js';
import { type CronHost, openCron, textJob } from './platform.js';

describe('cron jobs', () => {
  eachDatabase(
    (engine) => {
      let cron: CronHost;

      before(async () => {
        cron = await openCron(engine);
      });

      after(async function stop() {
        await cron.host.stop();
      });

      const stateOf = async (id: string): Promise<CronJobState> => (await cron.call('GET', `/jobs/${id}/state`)).body;
      const errorOf = ({ status, body }: { status: number; body: unknown }) => {
        const { error } = body as { error: { code: string; message: string; details?: object } };
        return { status, code: error.code, message: error.message };
      };

      it('have a default job, which cannot be deleted', async () => {
        const { body } = await cron.call('GET', '/jobs/cron-default');
        expect(body).to.deep.equal({
          spec: {
            id: 'cron-default',
            name: '你好文本任务',
            enabled: false,
            schedule: { type: 'interval', cron: '60s', timezone: 'UTC' },
            task_type: 'text',
            text: '你好',
            dispatch: {
              type: '',
              channel: 'console',
              target: { user_id: 'demo-user', session_id: 'session-default' },
              mode: '',
              meta: {},
            },
            runtime: { max_concurrency: 1, timeout_seconds: 30, misfire_grace_seconds: 0 },
            meta: { system_default: true },
          },
          state: { paused: false },
        });
        const refused = await cron.call('DELETE', '/jobs/cron-default');
        expect(refused).to.deep.equal({
          status: 400,
          body: {
            error: {
              code: 'default_cron_protected',
              message: 'default cron job cannot be deleted',
              details: { job_id: 'cron-default' },
            },
          },
        });
      });

      it('are normalised and keep their answer to the known members', async () => {
        const { body } = await cron.call(
          'POST',
          '/jobs',
          textJob(' a ', '60s', { task_type: 'text', workflow: { nodes: [] }, unknown: 1 }),
        );
        expect(body).to.deep.equal({
          id: 'a',
          name: 'a',
          enabled: true,
          schedule: { type: 'interval', cron: '60s', timezone: 'UTC' },
          task_type: 'text',
          text: 'hi',
          dispatch: { type: '', channel: 'console', target: { user_id: 'u1', session_id: 's1' }, mode: '', meta: {} },
          runtime: { max_concurrency: 0, timeout_seconds: 0, misfire_grace_seconds: 0 },
          meta: {},
        });
      });

      const refused: readonly (readonly [string, unknown, string, string])[] = [
        ['text that is not JSON', '{', 'invalid_json', 'invalid request body'],
        ['a list', [], 'invalid_json', 'invalid request body'],
        ['a number for the name', textJob('a', '60s', { name: 1 }), 'invalid_json', 'invalid request body'],
        ['no name', textJob('a', '60s', { name: ' ' }), 'invalid_cron_task_type', 'id and name are required'],
        [
          'an unknown task type',
          textJob('a', '60s', { task_type: 'unknown' }),
          'invalid_cron_task_type',
          'unsupported task_type="unknown"',
        ],
        [
          'a blank text',
          textJob('a', '60s', { text: ' \n' }),
          'invalid_cron_task_type',
          'text is required for task_type=text',
        ],
        [
          'a workflow task without one',
          textJob('a', '60s', { task_type: 'workflow' }),
          'invalid_cron_workflow',
          'workflow is required for task_type=workflow',
        ],
        [
          'an unknown schedule type',
          textJob('a', '60s', { schedule: { type: 'weekly', cron: '1' } }),
          'invalid_cron_schedule',
          'unsupported schedule.type="weekly"',
        ],
        [
          'an unknown zone',
          textJob('a', '60s', { schedule: { cron: '1', timezone: 'Mars/Base' } }),
          'invalid_cron_schedule',
          'invalid schedule.timezone="Mars/Base"',
        ],
        [
          'an unknown policy',
          textJob('a', '60s', { runtime: { misfire_policy: 'all' } }),
          'invalid_cron_schedule',
          'unsupported runtime.misfire_policy="all"',
        ],
        [
          'eleven attempts',
          textJob('a', '60s', { runtime: { max_attempts: 11 } }),
          'invalid_cron_schedule',
          'unsupported runtime.max_attempts="11"',
        ],
        ['half a second', textJob('a', '500ms'), 'invalid_cron_schedule', 'invalid schedule interval: "500ms"'],
        [
          'an id that is too long',
          textJob('a'.repeat(129), '60s'),
          'invalid_cron_task_type',
          'id must have at most 128 bytes',
        ],
      ];
      it('are refused with a member of another type, which is named', async () => {
        for (const [body, hint] of [
          [{ runtime: { timeout_seconds: 1.5 } }, 'timeout_seconds must be a whole number.'],
          [{ enabled: 'yes' }, 'enabled must be true or false.'],
          [{ dispatch: { target: 's1' } }, 'target must be an object.'],
          [{ workflow: { version: 'v1', nodes: [1] } }, 'nodes must be a list of objects.'],
        ] as const) {
          const { status, body: answer } = await cron.call('POST', '/jobs', textJob('a', '60s', body));
          expect([status, (answer as { error: { hint?: string } }).error.hint]).to.deep.equal([400, hint]);
        }
      });

      for (const [what, body, code, message] of refused) {
        it(`are refused with ${what}`, async () => {
          expect(errorOf(await cron.call('POST', '/jobs', body))).to.deep.equal({ status: 400, code, message });
        });
      }

      it('are replaced only under their own id, and only if they exist', async () => {
        const mismatch = await cron.call('PUT', '/jobs/job-a', textJob('job-b', '60s'));
        expect(errorOf(mismatch)).to.deep.equal({ status: 400, code: 'job_id_mismatch', message: 'job_id mismatch' });
        const unknown = await cron.call('PUT', '/jobs/job-a', textJob('job-a', '60s'));
        expect(errorOf(unknown)).to.deep.equal({ status: 404, code: 'not_found', message: 'cron job not found' });
      });

      it('that do not exist are not found', async () => {
        for (const [method, path] of [
          ['GET', ''],
          ['POST', '/run'],
          ['POST', '/pause'],
          ['POST', '/resume'],
          ['GET', '/state'],
          ['GET', '/runs'],
          ['GET', '/slots'],
        ] as const) {
          const answer = errorOf(await cron.call(method, `/jobs/nope${path}`));
          expect(answer, path).to.deep.equal({ status: 404, code: 'not_found', message: 'cron job not found' });
        }
        expect((await cron.call('DELETE', '/jobs/nope')).body).to.deep.equal({ deleted: false });
        const run = errorOf(await cron.call('GET', '/runs/run-1'));
        expect(run).to.deep.equal({ status: 404, code: 'not_found', message: 'cron run not found' });
      });

      it('keep their next slot when the name or the text changes, and move it with the schedule', async () => {
        await cron.save('b', '1h');
        const { next_run_at: first } = await stateOf('b');
        await cron.save('b', '1h', { name: 'another' });
        expect((await stateOf('b')).next_run_at).to.equal(first);
        await cron.save('b', '2h');
        expect((await stateOf('b')).next_run_at).not.to.equal(first);
        await cron.save('b', '2h', { enabled: false });
        expect(await stateOf('b')).to.deep.equal({ paused: false });
      });

      it('are paused and resumed, again and again', async () => {
        await cron.save('c', '1h');
        for (let times = 0; times < 2; times += 1) {
          expect((await cron.call('POST', '/jobs/c/pause')).body).to.deep.equal({ paused: true });
          expect(await stateOf('c')).to.deep.equal({ paused: true, last_status: 'paused' });
        }
        for (let times = 0; times < 2; times += 1) {
          expect((await cron.call('POST', '/jobs/c/resume')).body).to.deep.equal({ resumed: true });
          expect(await stateOf('c')).to.deep.include({ paused: false, last_status: 'resumed' });
        }
        await cron.save('d', '1h', { enabled: false });
        await cron.call('POST', '/jobs/d/resume');
        expect(await stateOf('d')).to.deep.equal({ paused: false, last_status: 'resumed' });
      });

      it('run every second, with one row of the ledger and one turn per slot', async () => {
        await cron.save('every', '1s', { dispatch: { target: { user_id: 'u2', session_id: 's2' } } });
        await until(
          'three slots',
          async () => (await cron.slots('every')).filter(({ outcome }) => outcome === 'succeeded').length >= 3,
        );
        await cron.call('POST', '/jobs/every/pause');
        await until('the end', async () => (await cron.slots('every')).every(({ outcome }) => outcome === 'succeeded'));
        const slots = await cron.slots('every');
        const runs = await cron.runs('every');
        expect(runs.map(({ run_id }) => run_id).reverse()).to.deep.equal(slots.map(({ run_id }) => run_id));
        const times = slots.map(({ scheduled_at }) => Date.parse(scheduled_at));
        expect(times).to.deep.equal(times.map((_, index) => (times[0] ?? 0) + index * 1_000));
        const chats = (await (await cron.host.fetch('/chats?user_id=u2')).json()) as { id: string; meta: object }[];
        expect(chats).to.have.length(1);
        expect(chats[0]?.meta).to.deep.include({ source: 'cron', cron_job_id: 'every', cron_job_name: 'every' });
        const turns = await (await cron.host.fetch(`/chats/${chats[0]?.id}/turns`)).json();
        expect(turns).to.have.length(slots.length);
      });

      it('are run by hand, also while they are disabled, without touching the schedule', async () => {
        await cron.save('manual', '1h', { enabled: false });
        const { status, body } = await cron.call('POST', '/jobs/manual/run');
        const { run_id } = body as { run_id: string };
        expect({ status, body }).to.deep.equal({ status: 200, body: { started: true, run_id } });
        expect(await stateOf('manual')).to.have.all.keys('last_run_at', 'last_status', 'paused');
        expect((await stateOf('manual')).last_status).to.equal('succeeded');
        expect(await cron.slots('manual')).to.deep.equal([]);
        const { body: run } = await cron.call('GET', `/runs/${run_id}`);
        expect(run).to.deep.include({
          trigger: 'manual',
          status: 'succeeded',
          scheduled_at: null,
          attempt: 1,
          error: null,
        });
      });

      it('are listed by name, in pages without gaps or repeats', async () => {
        const ids: string[] = [];
        let cursor: string | null = '';
        while (cursor !== null) {
          const response: Response = await cron.host.fetch(
            `/cron/jobs?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
          );
          ids.push(...((await response.json()) as { id: string }[]).map(({ id }) => id));
          cursor = response.headers.get('x-next-cursor');
        }
        const all = (await cron.call('GET', '/jobs')).body as { id: string }[];
        expect(ids).to.deep.equal(all.map(({ id }) => id));
        expect(ids.length).to.be.greaterThan(3);
      });
    },
    { keepRows: true },
  );
});
