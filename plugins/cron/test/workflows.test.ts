import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { fakeModel, fakeTool } from 'mortise/contracts/agent/testing';
import { type CronNodeContext, type JsonObject, platformPrincipal } from 'mortise/sdk';
import { contributing, eachDatabase, until } from 'mortise/sdk/testing';
import type { CronJobState, CronRun, WorkflowExecution } from '../contract/index.js';
import { type CronHost, openCron, says, textJob } from './platform.js';

const node = (id: string, type: string, more: object = {}) => ({ id, type, ...more });
const text = (id: string, more: object = {}) => node(id, 'text_event', { text: id, ...more });
const start = node('s', 'start');

/** A document whose nodes follow each other. */
function chain(...nodes: readonly { readonly id: string }[]): object {
  const all = [start, ...nodes];
  const edges = nodes.map(({ id }, index) => ({ id: `e${index}`, source: all[index]?.id, target: id }));
  return { version: 'v1', nodes: all, edges };
}

const edge = (source: string, target: string, branch?: string) => ({
  id: `${source}-${target}`,
  source,
  target,
  ...(branch === undefined ? {} : { branch }),
});

describe('workflows', () => {
  eachDatabase(
    (engine) => {
      let cron: CronHost;
      const seen: { params: JsonObject; ctx: Partial<CronNodeContext> }[] = [];
      let isFailing = false;

      const echo = contributing(
        'cron-node',
        'echo',
        {
          summary: 'Returns its input.',
          templates: true,
          paramsSchema: { type: 'object', required: ['say'], properties: { say: {} } },
        },
        {
          validate: ({ say }: JsonObject) => (say === 'nothing' ? 'say something' : undefined),
          async run(params: JsonObject, ctx: CronNodeContext) {
            seen.push({ params, ctx: { idempotencyKey: ctx.idempotencyKey, principal: ctx.principal } });
            if (isFailing) throw new Error('a path of the machine');
            return params.say === 'stop'
              ? { stop: true }
              : { result: String(params.say), output: { said: params.say } };
          },
        },
        'third-party',
      );

      const model = fakeModel(async function* ({ messages, tools = [] }) {
        const asked = String(messages.at(-1)?.content);
        yield* says(asked === 'tools?' ? tools.map(({ name }) => name).join() : `Re: ${asked}`);
      });

      before(async () => {
        cron = await openCron(engine, {
          model,
          plugins: ['cron-node-agent-turn', 'cron-node-http-request', 'cron-node-tool-call'],
          extra: [
            echo,
            fakeTool('count', async ({ text: counted }) => ({ letters: String(counted).length })),
            fakeTool('other', async () => ({})),
          ],
        });
      });

      after(async function stop() {
        await cron.host.stop();
      });

      /** Runs a workflow once. @returns the response, the record and the run */
      async function run(workflow: object, more: object = {}) {
        await cron.save('w', '1h', { enabled: false, task_type: 'workflow', workflow, ...more });
        const { status, body } = await cron.call('POST', '/jobs/w/run');
        const state: CronJobState = (await cron.call('GET', '/jobs/w/state')).body;
        const [last] = (await cron.runs('w')) as readonly CronRun[];
        const { message } = ((body as { error?: { message: string } }).error ?? {}) as { message?: string };
        return { status, message, record: state.last_execution as WorkflowExecution, state, run: last };
      }

      const outcomes = ({ nodes }: WorkflowExecution) =>
        nodes.map(({ node_id, status, result }) => [node_id, status, ...(result === undefined ? [] : [result])]);

      it('run one node after another along the edges', async () => {
        const {
          status,
          record,
          state,
          run: last,
        } = await run(chain(text('one'), node('d', 'delay', { delay_seconds: 0.05 }), text('two')));
        expect(status).to.equal(200);
        expect(outcomes(record)).to.deep.equal([
          ['one', 'succeeded'],
          ['d', 'succeeded'],
          ['two', 'succeeded'],
        ]);
        expect(record).to.deep.include({ run_id: last?.run_id, had_failures: false });
        expect(record.nodes[0]).to.deep.include({
          node_type: 'text_event',
          continue_on_error: false,
          input: { text: 'one' },
          output: { reply: 'Re: one' },
        });
        expect(state).to.deep.include({ last_status: 'succeeded' });
        expect(last?.execution).to.deep.equal(record);
        for (const path of ['/jobs/w', '/jobs/w/state', '/jobs/w/runs', `/runs/${last?.run_id}`]) {
          const times = JSON.stringify((await cron.call('GET', path)).body).match(/"\d{4}-[^"]*T[^"]*"/g);
          expect(times, path).to.have.length.above(0);
          for (const time of times ?? []) expect(time).to.match(/T\d\d:\d\d:\d\dZ"$/);
        }
      });

      it('stop after a false condition, and succeed', async () => {
        const { status, record } = await run(
          chain(node('c', 'if_event', { if_condition: 'channel == "webhook"' }), text('after')),
        );
        expect(status).to.equal(200);
        expect(outcomes(record)).to.deep.equal([
          ['c', 'succeeded', 'false'],
          ['after', 'skipped'],
        ]);
      });

      it('take the branch of the outcome, and join again', async () => {
        for (const [condition, taken, skipped] of [
          ['trigger == manual', 'a', 'b'],
          ['trigger == schedule', 'b', 'a'],
        ] as const) {
          const { record } = await run({
            version: 'v1',
            nodes: [start, node('c', 'if_event', { if_condition: condition }), text('a'), text('b'), text('d')],
            edges: [edge('s', 'c'), edge('c', 'a', 'true'), edge('c', 'b', 'false'), edge('a', 'd'), edge('b', 'd')],
          });
          expect(outcomes(record).slice(1)).to.deep.equal([
            [taken, 'succeeded'],
            ['d', 'succeeded'],
            [skipped, 'skipped'],
          ]);
        }
      });

      it('decide by the reply of the node before', async () => {
        const { record } = await run(
          chain(text('hello'), node('c', 'if_event', { if_condition: 'prev_reply == "Re: hello"' }), text('after')),
        );
        expect(outcomes(record).at(-1)).to.deep.equal(['after', 'succeeded']);
      });

      it('stop at a node that failed, or go on, and have failed in both cases', async () => {
        isFailing = true;
        for (const goesOn of [false, true]) {
          const bad = node('n1', 'echo', { say: 'x', ...(goesOn ? { continue_on_error: true } : {}) });
          const { status, message, record, state } = await run(chain(bad, text('n2')));
          const error = 'workflow node n1 failed: an unexpected error occurred';
          expect([status, message, state.last_error]).to.deep.equal([500, error, error]);
          expect(record.had_failures).to.equal(true);
          expect(outcomes(record)).to.deep.equal([
            ['n1', 'failed'],
            ['n2', goesOn ? 'succeeded' : 'skipped'],
          ]);
        }
        isFailing = false;
      });

      it('end at the time limit of the run, whatever continue_on_error says', async () => {
        const { message, record } = await run(
          chain(node('d', 'delay', { delay_seconds: 60, continue_on_error: true }), text('after')),
          { runtime: { timeout_seconds: 1 } },
        );
        expect(message).to.equal('workflow node d failed: cron execution timeout after 1s');
        expect(outcomes(record)).to.deep.equal([
          ['d', 'failed'],
          ['after', 'skipped'],
        ]);
      });

      it('accept, check and run node types of third parties', async () => {
        seen.length = 0;
        const { record, run: last } = await run(
          chain(
            node('n 1', 'echo', { say: { deep: [1] }, own: true }),
            node('n2', 'echo', { say: '{{ nodes["n 1"].said.deep[0] }}' }),
            node('n3', 'echo', { say: 'It was {{ prev.reply }}, {{ job.name }}' }),
            node('n4', 'echo', { say: 'stop' }),
            text('after'),
          ),
        );
        expect(seen.map(({ params }) => params.say)).to.deep.equal([{ deep: [1] }, 1, 'It was 1, w', 'stop']);
        expect(seen[0]?.params).to.have.property('own', true);
        expect(seen[0]?.ctx.idempotencyKey).to.equal(`cron:w:${last?.run_id}:n%201`);
        expect(seen[0]?.ctx.principal).to.deep.include({ id: 'local', admin: false });
        expect(outcomes(record).at(-1)).to.deep.equal(['after', 'skipped']);
        const refused = async (say?: unknown) => {
          const workflow = chain(node('n', 'echo', say === undefined ? {} : { say }));
          const { body } = await cron.call('POST', '/jobs', { id: 'x', name: 'x', schedule: { cron: '1h' }, workflow });
          return (body as { error: { message: string } }).error.message;
        };
        expect(await refused('nothing')).to.equal('workflow node n invalid: say something');
        expect(await refused()).to.match(/^workflow node n invalid: say /);
        expect(await refused('{{ open')).to.match(/^workflow node n invalid: template error: /);
      });

      it('fail when a template names what does not exist', async () => {
        const { message } = await run(chain(node('n', 'echo', { say: '{{ nodes.nobody.said }}' })));
        expect(message).to.match(/^workflow node n failed: template error: undefined variable: nodes\.nobody/);
      });

      it('fail, and keep their job, when a node type is gone', async () => {
        await cron.save('gone', '1h', {
          enabled: false,
          workflow: chain(node('n', 'echo', { say: 'x' })),
          task_type: 'workflow',
        });
        await cron.host.control.disable('third-party');
        const { body } = await cron.call('POST', '/jobs/gone/run');
        expect((body as { error: { message: string } }).error.message).to.equal(
          'unsupported workflow node type="echo"',
        );
        await cron.host.control.enable('third-party');
        expect((await cron.call('POST', '/jobs/gone/run')).status).to.equal(200);
      });

      it('run turns with a chosen model and tools', async () => {
        const { record, status } = await run(
          chain(
            node('ask', 'agent_turn', { prompt: 'What is {{ job.id }}?' }),
            node('tools', 'agent_turn', { prompt: 'tools?', tools: ['count'] }),
            node('none', 'agent_turn', { prompt: 'tools?', tools: [], continue_on_error: true }),
          ),
        );
        expect(status).to.equal(200);
        expect(record.nodes.map(({ output }) => output?.reply)).to.deep.equal([
          'Re: What is w?',
          'count',
          '(empty reply)',
        ]);
      });

      it('are refused with tools and models that do not exist, and fail when these are gone later', async () => {
        const save = async (...nodes: readonly { readonly id: string }[]) => {
          const job = textJob('named', '1h', { enabled: false, task_type: 'workflow', workflow: chain(...nodes) });
          const { status, body } = await cron.call('POST', '/jobs', job);
          return [status, (body as { error?: { code: string; message: string } }).error?.message];
        };
        const turn = (more: object) => node('n', 'agent_turn', { prompt: 'x', ...more });
        const refused = [
          [turn({ tools: ['count', 'missing'] }), 'there is no tool "missing" for this turn'],
          [turn({ model: 'nobody/m1' }), 'model "nobody/m1": provider not found'],
          [node('n', 'tool_call', { tool: 'missing' }), 'there is no tool "missing" for this turn'],
        ] as const;
        for (const [wrong, message] of refused) {
          const [status, text] = await save(wrong);
          expect(status, JSON.stringify(wrong)).to.equal(400);
          expect(text)
            .to.match(/^workflow node n invalid: /)
            .and.to.contain(message);
        }
        // What a template becomes is known only when it runs.
        expect((await save(turn({ tools: ['{{ job.name }}'] })))[0]).to.equal(200);
        for (const kept of [turn({ tools: ['other'] }), node('n', 'tool_call', { tool: 'other' })]) {
          expect((await save(kept))[0]).to.equal(200);
          await cron.host.control.disable('tool-other');
          const { status, body } = await cron.call('POST', '/jobs/named/run');
          expect(status).to.equal(500);
          expect((body as { error: { message: string } }).error.message)
            .to.match(/^workflow node n failed: /)
            .and.to.contain('code=tool_not_supported');
          await cron.host.control.enable('tool-other');
        }
      });

      it('call tools of the agent', async () => {
        const { record, status } = await run(
          chain(
            node('t', 'tool_call', { tool: 'count', arguments: { text: '{{ job.name }}' } }),
            node('n', 'echo', { say: '{{ nodes.t.json.letters }}' }),
          ),
        );
        expect(status).to.equal(200);
        expect(record.nodes.at(-1)?.output).to.deep.equal({ said: 1 });
      });

      describe('with secrets among their parameters', () => {
        const authorization = 'Bearer opaque-token-of-a-partner';
        const request = (headers: object) =>
          chain(node('h', 'http_request', { url: 'https://partner.example/v1', headers }));
        const save = (workflow: object) => ({
          ...textJob('secret', '1h'),
          enabled: false,
          task_type: 'workflow',
          workflow,
        });
        const headersIn = (spec: unknown) => {
          const { workflow } = spec as { readonly workflow: { readonly nodes: readonly JsonObject[] } };
          return workflow.nodes.find(({ id }) => id === 'h')?.headers;
        };
        const storedHeaders = async () => {
          const [job] = await cron.host
            .service('cron')
            .export({ principal: platformPrincipal }, true)
            .then((jobs) => jobs.filter(({ id }) => id === 'secret'));
          return headersIn(job);
        };

        it('show masks, and keep the secrets when the masks come back', async () => {
          const created = await cron.call('POST', '/jobs', save(request({ authorization, accept: 'text/html' })));
          expect(created.status).to.equal(200);
          const listed = (await cron.call('GET', '/jobs')).body as readonly { readonly id: string }[];
          const read = await cron.call('GET', '/jobs/secret');
          for (const answer of [created.body, listed, read.body]) {
            expect(JSON.stringify(answer)).to.contain('Be***er').and.not.contain('opaque-token');
          }
          const { spec } = read.body as { readonly spec: JsonObject };
          const replaced = await cron.call('PUT', '/jobs/secret', { ...spec, name: 'renamed' });
          expect(replaced.status).to.equal(200);
          expect(JSON.stringify(replaced.body)).not.to.contain('opaque-token');
          expect(await storedHeaders()).to.deep.equal({ authorization, accept: 'text/html' });
          await cron.call('POST', '/jobs', save(request({ authorization: 'Bearer another-one-0123456789' })));
          expect(await storedHeaders()).to.deep.equal({ authorization: 'Bearer another-one-0123456789' });
        });

        it('mask them wherever the author of a job puts them, and keep them when the masks come back', async () => {
          const url = 'https://bob:hunter2pass@partner.example/v1?token=abcdef0123456789abcdef&q=1';
          const parts = {
            workflow: chain(node('h', 'http_request', { url, body: { client_secret: 'opaque-of-the-body-01' } })),
            meta: { api_key: 'opaque-of-the-meta-01' },
            request: { biz_params: { x_token: 'opaque-of-the-params-01' } },
            dispatch: { target: { user_id: 'u1', session_id: 's1' }, meta: { password: 'opaque-of-the-dispatch' } },
          };
          const secrets = /opaque-of|hunter2pass|abcdef0123456789/;
          const created = await cron.call('POST', '/jobs', { ...save(request({})), ...parts });
          const { spec } = (await cron.call('GET', '/jobs/secret')).body as { readonly spec: JsonObject };
          for (const answer of [created.body, spec]) expect(JSON.stringify(answer)).not.to.match(secrets);
          expect((await cron.call('PUT', '/jobs/secret', { ...spec, name: 'renamed' })).status).to.equal(200);
          const [stored] = (await cron.host.service('cron').export({ principal: platformPrincipal }, true)).filter(
            ({ id }) => id === 'secret',
          );
          expect(stored).to.deep.include({ meta: parts.meta, request: parts.request });
          expect(stored?.dispatch.meta).to.deep.equal(parts.dispatch.meta);
          expect(stored?.workflow?.nodes[1]).to.deep.include({ url, body: { client_secret: 'opaque-of-the-body-01' } });
        });

        it('refuse masks where the secret would change or go elsewhere', async () => {
          const url = 'https://partner.example/v1?token=abcdef0123456789abcdef';
          const http = (more: object) => node('h', 'http_request', { url, headers: { authorization }, ...more });
          await cron.call('POST', '/jobs', save(chain(http({}))));
          const { spec } = (await cron.call('GET', '/jobs/secret')).body as {
            readonly spec: { readonly workflow: { readonly nodes: readonly JsonObject[] } };
          };
          const shown = spec.workflow.nodes[1] as { id: string; url: string };
          for (const changed of [
            { ...shown, url: `${shown.url}&page=2` },
            { ...shown, url: 'https://elsewhere.example/v1' },
            { ...shown, url: 'https://partner.example@elsewhere.example/v1' },
            { ...shown, url: 'ht\ttps://elsewhere.example/v1' },
            { ...shown, url: '{{ job.name }}' },
            { ...shown, type: 'echo', say: 'x' },
            { ...shown, id: 'other' },
          ]) {
            const { status, body } = await cron.call('PUT', '/jobs/secret', save(chain(changed)));
            expect([status, JSON.stringify(body)], JSON.stringify(changed)).to.deep.equal([400, JSON.stringify(body)]);
            expect(JSON.stringify(body)).to.contain('has a mask instead of a secret');
          }
          const kept = { ...shown, method: 'POST' };
          expect((await cron.call('PUT', '/jobs/secret', save(chain(kept)))).status).to.equal(200);
          expect(await storedHeaders()).to.deep.equal({ authorization });
          const open = await cron.call('POST', '/jobs', {
            ...save(chain(text('one'))),
            id: 'copied',
            meta: { api_key: 'ab***yz' },
          });
          expect(JSON.stringify(open.body)).to.contain('meta.api_key has a mask instead of a secret');
        });

        it('mask what a node returned in answers, and not for later nodes', async () => {
          const { record } = await run(
            chain(
              node('a', 'echo', { say: { access_token: 'opaque-token-of-a-login' } }),
              node('b', 'echo', { say: '{{ nodes.a.said.access_token | size }}' }),
            ),
          );
          expect(record.nodes.map(({ output }) => output?.said)).to.deep.equal([{ access_token: 'op***in' }, 23]);
        });

        it('refuse a mask that stands for nothing', async () => {
          const { status, body } = await cron.call('POST', '/jobs', {
            ...save(request({ 'x-api-key': 'ab***yz' })),
            id: 'copied',
          });
          expect(status).to.equal(400);
          expect(JSON.stringify(body)).to.contain('has a mask instead of a secret at headers.x-api-key');
        });
      });

      describe('with HTTP requests', () => {
        let server: Server;
        let origin: string;
        let requests = 0;

        before(async () => {
          server = createServer((_request, response) => {
            requests += 1;
            response.end('{}');
          });
          await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
          origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
        });

        after(() => void server.close());

        it('reach no private address', async () => {
          const { message } = await run(chain(node('h', 'http_request', { url: `${origin}/{{ job.id }}` })));
          expect(message).to.match(/^workflow node h failed: The host 127\.0\.0\.1 may not be reached/);
          expect(requests).to.equal(0);
        });

        it('are refused with an invalid address', async () => {
          const workflow = chain(node('h', 'http_request', { url: 'ftp://example.com' }));
          const { body } = await cron.call('POST', '/jobs', { id: 'x', name: 'x', schedule: { cron: '1h' }, workflow });
          expect((body as { error: { message: string } }).error.message).to.equal(
            'workflow node h invalid: url must be an http or https URL',
          );
        });
      });

      it('show their nodes while they run', async () => {
        const gone = new AbortController();
        const response = await cron.host.fetch('/cron/events', { signal: gone.signal });
        let shown = '';
        const reading = (async () => {
          const decoder = new TextDecoder();
          for await (const chunk of response.body ?? []) shown += decoder.decode(chunk);
        })().catch(() => undefined);
        await until('the stream', () => shown !== '');
        await run(chain(text('secret text')));
        await until('the node', () => shown.includes('"node_id":"secret text","node_type":"text_event"'));
        gone.abort();
        await reading;
        expect(shown).not.to.contain('"input"');
        expect(shown)
          .to.match(/"finished_at":"[^."]+Z"/)
          .and.not.to.match(/\.\d{3}Z/);
      });
    },
    { keepRows: true },
  );
});
