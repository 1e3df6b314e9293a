import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { fakeModel } from 'mortise/contracts/agent/testing';
import { contributing, eachDatabase, temporaryFolder, until } from 'mortise/sdk/testing';
import type { CronRun } from '../contract/index.js';
import { type CronHost, openCron, says } from './platform.js';

const node = (id: string) => ({ id, type: 'text_event', text: id });
const workflow = {
  version: 'v1',
  nodes: [{ id: 's', type: 'start' }, node('one'), node('two'), node('three')],
  edges: [
    { id: 'a', source: 's', target: 'one' },
    { id: 'b', source: 'one', target: 'two' },
    { id: 'c', source: 'two', target: 'three' },
  ],
};

describe('a run that its process leaves behind', () => {
  eachDatabase((engine) => {
    let cron: CronHost | undefined;
    const asked: string[] = [];
    /** The text at which the model hangs. */
    let hangsAt: string | undefined;

    afterEach(async function stop() {
      await cron?.host.stop();
      cron = undefined;
    });

    const replies: string[] = [];
    const hook = contributing(
      'channel',
      'hook',
      {},
      {
        async sendText({ text }, { signal }) {
          replies.push(text);
          if (text === hangsAt) await sleep(60_000, undefined, { signal });
        },
      },
    );

    async function open(dataDir: string): Promise<CronHost> {
      const model = fakeModel(async function* ({ messages }, _call, signal) {
        const text = String(messages.at(-1)?.content);
        asked.push(text);
        if (text === hangsAt) await sleep(60_000, undefined, { signal });
        yield* says(`Re: ${text}`);
      });
      cron = await openCron(engine, { model, dataDir, extra: [hook], env: { MORTISE_CRON_LEASE_SECONDS: '2' } });
      return cron;
    }

    /** Starts a job whose model hangs, ends the process, and starts another on its data. */
    async function interrupt(at: string, more: object): Promise<CronHost> {
      asked.length = 0;
      replies.length = 0;
      hangsAt = at;
      const dataDir = temporaryFolder('cron');
      const first = await open(dataDir);
      await first.save('j', '1h', { enabled: false, ...more });
      await first.call('POST', '/jobs/j/run?wait=false');
      await until('the model or the channel to hang', () => [...asked, ...replies].includes(at));
      await first.host.stop(500);
      hangsAt = undefined;
      return open(dataDir);
    }

    const ended = async ({ runs }: CronHost): Promise<readonly CronRun[]> => {
      await until('the recovery', async () => {
        const all = await runs('j');
        return all.every(({ status }) => status !== 'running' && status !== 'queued');
      });
      return [...(await runs('j'))].reverse();
    };

    it('fails when its effect may have happened', async () => {
      const again = await interrupt('hang', { text: 'hang' });
      const runs = await ended(again);
      expect(runs.map(({ status, error }) => [status, error])).to.deep.equal([
        ['failed', 'run interrupted: outcome unknown'],
      ]);
      const { body } = await again.call('GET', '/jobs/j/state');
      expect(body).to.deep.include({ last_status: 'failed', last_error: 'run interrupted: outcome unknown' });
      expect(asked).to.deep.equal(['hang']);
    });

    it('sends a reply again that its channel may not have got, where its job asks for it', async () => {
      const job = {
        text: 'hi',
        dispatch: { channel: 'hook', mode: 'agent', target: { user_id: 'u1', session_id: 's1' } },
      };
      for (const [policy, status, sent] of [
        ['safe', 'failed', 1],
        ['retry', 'succeeded', 2],
      ] as const) {
        const again = await interrupt('Re: hi', { ...job, runtime: { on_interrupt: policy } });
        expect((await ended(again)).at(-1)?.status, policy).to.equal(status);
        expect(replies, policy).to.deep.equal(Array(sent).fill('Re: hi'));
        expect(asked, policy).to.deep.equal(['hi']);
        await again.host.stop();
      }
    });

    it('starts again where its job asks for it, at the node that was interrupted', async () => {
      const more = { task_type: 'workflow', workflow, runtime: { on_interrupt: 'retry' } };
      const runs = await ended(await interrupt('two', more));
      expect(runs.map(({ status, trigger }) => [status, trigger])).to.deep.equal([
        ['interrupted', 'manual'],
        ['succeeded', 'recovery'],
      ]);
      expect(asked).to.deep.equal(['one', 'two', 'two', 'three']);
      expect(runs[1]?.execution?.nodes.map(({ node_id, status }) => [node_id, status])).to.deep.equal([
        ['one', 'succeeded'],
        ['two', 'succeeded'],
        ['three', 'succeeded'],
      ]);
    });
  });
});
