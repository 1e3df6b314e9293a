import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { fakeModel, says } from 'mortise/contracts/agent/testing';
import { SocketClient } from 'mortise/contracts/realtime/testing';
import type { CommandFacts, PluginManifest } from 'mortise/sdk';
import { createTestHost, eachDatabase, type TestHost, until } from 'mortise/sdk/testing';

/** Mentions data of alice if the request contains any. */
const model = fakeModel(({ messages }) =>
  says(JSON.stringify(messages).includes('of-alice') ? 'the heron-of-alice flies' : 'nothing'),
);

const project = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

const keys = {
  alice: { key: 'alice-key-0123456789', id: 'alice-laptop', actor: 'alice', spaces: ['team:red'] },
  bob: { key: 'bob-key-0123456789ab', id: 'bob-laptop', actor: 'bob', spaces: ['team:blue'] },
  bot: { key: 'bot-key-0123456789ab', id: 'bot', spaces: ['team:blue'] },
  operator: { key: 'operator-key-0123456789', id: 'operator', admin: true },
};
type Caller = keyof typeof keys;
const outsiders = ['bob', 'bot'] as const;
const headersOf = (caller: Caller) => ({ 'x-api-key': keys[caller].key });

interface Call {
  readonly path?: string;
  readonly body?: unknown;
}

/** Calls with the ids of alice's data; `shown` when alice then sees some of it. */
interface Row {
  readonly calls: readonly Call[];
  readonly shown?: true;
}

/** Data of alice: ids that outsiders may guess, and texts that no other user may see. */
interface AliceData {
  readonly chat: string;
  readonly turn: string;
  readonly observation: string;
  readonly correlation: string;
}

const session = 'alices-session';
const texts = ['walrus-of-alice', 'heron-of-alice', 'private:alice', 'team:red', 'console:alice:'];

const message = (user: string, text: string) => ({
  session_id: session,
  user_id: user,
  input: [{ role: 'user', type: 'message', content: [{ type: 'text', text }] }],
});
const ofSession = { session_id: session, user_id: 'alice', channel: 'console' };
/** A job with data of alice that never runs by itself. */
const job = (id: string, user: string, text = 'x') => ({
  id,
  name: id,
  enabled: false,
  task_type: 'text',
  schedule: { type: 'cron', cron: '0 0 1 1 *' },
  text,
  dispatch: { channel: 'console', target: { user_id: user, session_id: session } },
});
const chat = (id: string) => ({ id, name: 'x', session_id: session, user_id: 'alice', channel: 'console', meta: {} });
const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params });
/** A direct call of a tool for agents, in a chat of the caller. */
const agentTool = (name: string, ...items: readonly object[]) => ({
  path: '/agent/process',
  body: { ...message('{caller}', 'x'), session_id: 'tools', biz_params: { tool: { name, items } } },
});
const tool = (name: string, args: object) => ({ body: rpc('tools/call', { name, arguments: args }) });
const observation = { source_name: 'walk', payload: { text: 'hi' } };

/** Routes that the platform serves in every state of the plugins. */
const platform = ['GET /version', 'GET /healthz', 'GET /ready'];

/** Routes that need no admin right, by method and path. Admin routes need no row, because they are refused. */
const routes = (own: AliceData): Readonly<Record<string, Row>> => ({
  'GET /version': { calls: [{}] },
  'GET /healthz': { calls: [{}] },
  'GET /ready': { calls: [{}] },
  'GET /metrics': { calls: [{}] },
  'GET /openapi.json': { calls: [{}] },
  'GET /health': { calls: [{}, { path: '/health?deep=1' }] },
  'GET /admin/plugins': { calls: [{}] },
  'POST /admin/plugins/plan': { calls: [{ body: { changes: [] } }] },
  'GET /admin/plugins/doctor': { calls: [{}] },
  'GET /admin/plugins/:key': {
    calls: ['sessions', 'gate', 'logbook'].map((key) => ({ path: `/admin/plugins/${key}` })),
  },
  'GET /admin/commands': { calls: [{}] },
  // Each command has a separate row.
  'POST /admin/commands/:key': { calls: [] },
  'GET /admin/tree': { calls: [{}] },
  'POST /agent/process': {
    shown: true,
    calls: [
      { body: message('alice', 'again') },
      { body: { ...message('alice', 'again'), stream: true } },
      { body: { ...message('alice', 'x'), biz_params: { tool: { name: 'memory_query', query: 'heron' } } } },
    ],
  },
  'POST /v1/messages': {
    calls: [
      { body: { model: 'demo', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] } },
      {
        body: {
          model: 'demo',
          max_tokens: 9,
          messages: [{ role: 'user', content: 'hi' }],
          metadata: { user_id: 'alice' },
        },
      },
    ],
  },
  'POST /v1/messages/count_tokens': {
    calls: [{ body: { model: 'demo', messages: [{ role: 'user', content: 'hi' }] } }],
  },
  'GET /envs': { calls: [{}] },
  'PUT /envs': { calls: [{ body: {} }] },
  'DELETE /envs/:key': { calls: [{ path: '/envs/NONE' }] },
  'GET /models': { calls: [{}] },
  'GET /models/catalog': { calls: [{}] },
  'GET /models/active': { calls: [{}] },
  'PUT /models/active': { calls: [{ body: {} }] },
  'PUT /models/:provider_id/config': { calls: [{ path: '/models/walk/config', body: {} }] },
  'DELETE /models/:provider_id': { calls: [{ path: '/models/walk' }] },
  'GET /config/channels': { calls: [{}, { path: '/config/channels?reveal=true' }] },
  'PUT /config/channels': { calls: [{ body: {} }] },
  'GET /config/channels/types': { calls: [{}] },
  'GET /config/channels/:name': { calls: [{ path: '/config/channels/console' }] },
  'PUT /config/channels/:name': { calls: [{ path: '/config/channels/console', body: {} }] },
  'GET /workspace/files': { calls: [{}] },
  'GET /workspace/files/*file_path': {
    calls: [
      { path: '/workspace/files/config/envs.json?reveal=true' },
      { path: '/workspace/files/prompts/..%2fdata%2fmortise.db' },
    ],
  },
  'PUT /workspace/files/*file_path': { calls: [{ path: '/workspace/files/prompts/walk.md', body: { content: 'x' } }] },
  'DELETE /workspace/files/*file_path': { calls: [{ path: '/workspace/files/skills/none.json' }] },
  'POST /workspace/uploads': { calls: [{ body: {} }] },
  'GET /workspace/export': { calls: [{}, { path: '/workspace/export?reveal=true' }] },
  'POST /workspace/import': { calls: [{ body: { mode: 'replace', payload: { version: 'v1' } } }] },
  'GET /channels/qq/state': { calls: [{}] },
  'POST /channels/qq/inbound': {
    calls: [
      { body: {} },
      { body: { t: 'C2C_MESSAGE_CREATE', d: { id: 'walk', content: 'again', author: { user_openid: 'alice' } } } },
    ],
  },
  'GET /skills': { calls: [{}] },
  'GET /skills/available': { calls: [{}] },
  'POST /skills': { calls: [{ body: {} }] },
  'POST /skills/batch-enable': { calls: [{ body: ['none'] }] },
  'POST /skills/batch-disable': { calls: [{ body: ['none'] }] },
  'POST /skills/:name/enable': { calls: [{ path: '/skills/none/enable', body: {} }] },
  'POST /skills/:name/disable': { calls: [{ path: '/skills/none/disable', body: {} }] },
  'DELETE /skills/:name': { calls: [{ path: '/skills/none' }] },
  'GET /skills/:name/files/:source/*file_path': {
    calls: [{ path: '/skills/none/files/scripts/..%2f..%2fdata%2fmortise.db' }],
  },
  'POST /v1/chat/completions': { calls: [{ body: { model: 'demo', messages: [{ role: 'user', content: 'hi' }] } }] },
  'POST /v1/responses': { calls: [{ body: { model: 'demo', input: 'hi' } }] },
  'GET /v1/models': { calls: [{}] },
  'GET /v1/models/*id': { calls: [{ path: '/v1/models/demo' }] },
  'GET /runtime-config': { calls: [{}] },
  'GET /agent/system-layers': { calls: [{}, { path: `/agent/system-layers?session_id=${session}&user_id=alice` }] },
  'GET /mcp-tools': { calls: [{}] },
  'POST /agent/tool-input-answer': { calls: [{ body: { ...ofSession, request_id: 'r-1', answers: {} } }] },
  'GET /agent/tool-input-requests': {
    calls: [{}, { path: `/agent/tool-input-requests?session_id=${session}&user_id=alice&channel=console` }],
  },
  'GET /cron/jobs': { shown: true, calls: [{}, { path: '/cron/jobs?user_id=alice' }] },
  'POST /cron/jobs': { calls: [{ body: job('alices-job', 'alice') }, { body: job('alices-job', '{caller}') }] },
  'GET /cron/jobs/:job_id': { shown: true, calls: [{ path: '/cron/jobs/alices-job' }] },
  'PUT /cron/jobs/:job_id': { calls: [{ path: '/cron/jobs/alices-job', body: job('alices-job', '{caller}') }] },
  'DELETE /cron/jobs/:job_id': { calls: [{ path: '/cron/jobs/alices-job' }] },
  'POST /cron/jobs/:job_id/pause': { calls: [{ path: '/cron/jobs/alices-job/pause', body: {} }] },
  'POST /cron/jobs/:job_id/resume': { calls: [{ path: '/cron/jobs/alices-job/resume', body: {} }] },
  'POST /cron/jobs/:job_id/run': { calls: [{ path: '/cron/jobs/alices-job/run', body: {} }] },
  'GET /cron/jobs/:job_id/state': { calls: [{ path: '/cron/jobs/alices-job/state' }] },
  'GET /cron/jobs/:job_id/runs': { calls: [{ path: '/cron/jobs/alices-job/runs' }] },
  'GET /cron/jobs/:job_id/slots': { calls: [{ path: '/cron/jobs/alices-job/slots' }] },
  'GET /cron/runs/:run_id': { calls: [{ path: '/cron/runs/none' }] },
  'POST /cron/runs/:run_id/cancel': { calls: [{ path: '/cron/runs/none/cancel', body: {} }] },
  'POST /cron/preview': { calls: [{ body: {} }] },
  // An event stream, which would need a separate test.
  'GET /cron/events': { calls: [] },
  'POST /observations': {
    calls: [
      { body: { ...observation, session_key: `console:alice:${session}` } },
      { body: { ...observation, actor: { actor_type: 'user', actor_id: 'alice' } } },
      { body: { ...observation, metadata: { user_id: 'alice' } } },
    ],
  },
  'POST /gate/explain': {
    calls: [{ body: { ...observation, session_key: `console:alice:${session}` } }, { body: observation }],
  },
  'GET /gate/status': { calls: [{}] },
  'POST /kb/search': { calls: [{ body: { query: 'heron walrus of-alice' } }] },
  'GET /kb/search': { calls: [{ path: '/kb/search?q=heron' }] },
  'GET /kb/chunks/:chunk_id': { calls: [{ path: '/kb/chunks/chunk_0' }] },
  'GET /kb/evidence': { calls: [{ path: '/kb/evidence?ref=kb:chunk_0:a.md%23L1-L2' }] },
  'GET /kb/sources': { calls: [{}] },
  'POST /kb/refresh': { calls: [{ body: { paths: ['nothing.md'], wait: true } }] },
  'GET /kb/jobs': { calls: [{}] },
  'GET /kb/jobs/:id': { calls: [{ path: '/kb/jobs/job-0' }] },
  'GET /kb/jobs/:id/events': { calls: [{ path: '/kb/jobs/job-0/events' }] },
  'POST /kb/jobs/:id/cancel': { calls: [{ path: '/kb/jobs/job-0/cancel' }] },
  'GET /kb/stats': { calls: [{}] },
  'GET /kb/health': { calls: [{}] },
  'GET /gate/pools/:pool': {
    shown: true,
    calls: ['drop', 'sink', 'tool'].map((pool) => ({ path: `/gate/pools/${pool}` })),
  },
  'GET /gate/sessions': { shown: true, calls: [{}] },
  'POST /agent/self/sessions/bootstrap': {
    calls: [
      { body: { user_id: 'alice', first_input: 'again', session_seed: session } },
      { body: { user_id: 'alice', first_input: 'again', session_seed: session, stream: true } },
    ],
  },
  'PUT /agent/self/sessions/:session_id/model': {
    calls: [
      {
        path: `/agent/self/sessions/${session}/model`,
        body: { user_id: 'alice', provider_id: 'demo', model: 'demo-chat' },
      },
    ],
  },
  'POST /agent/self/config-mutations/preview': {
    calls: [
      {
        body: {
          target: 'workspace_file',
          operations: [{ kind: 'replace', path: 'prompts/walk.md', value: 'of-alice' }],
        },
      },
    ],
  },
  'POST /agent/self/config-mutations/apply': { calls: [{ body: { mutation_id: 'none', confirm_hash: 'none' } }] },
  'GET /chats': { shown: true, calls: [{}, { path: '/chats?user_id=alice' }, { path: '/chats?channel=console' }] },
  'POST /chats': { calls: [{ body: chat(own.chat) }, { body: { ...chat(own.chat), user_id: 'bob' } }] },
  'POST /chats/batch-delete': { calls: [{ body: [own.chat] }] },
  'GET /chats/:chat_id': {
    shown: true,
    calls: [{ path: `/chats/${own.chat}` }, { path: `/chats/${own.chat}?include_failed=true` }],
  },
  'PUT /chats/:chat_id': { calls: [{ path: `/chats/${own.chat}`, body: chat(own.chat) }] },
  'DELETE /chats/:chat_id': { calls: [{ path: `/chats/${own.chat}` }] },
  'GET /chats/:chat_id/turns': { shown: true, calls: [{ path: `/chats/${own.chat}/turns` }] },
  'GET /chats/:chat_id/turns/:turn_id': { shown: true, calls: [{ path: `/chats/${own.chat}/turns/${own.turn}` }] },
  'POST /chats/:chat_id/turns/:turn_id/cancel': {
    calls: [{ path: `/chats/${own.chat}/turns/${own.turn}/cancel`, body: {} }],
  },
  'POST /memory/store': {
    calls: [
      { body: { payload_md: 'planted', target_space: 'private:alice' } },
      { body: { payload_md: 'planted', target_space: 'team:red', actor_user_id: 'alice' } },
    ],
  },
  'POST /memory/query': {
    shown: true,
    calls: [
      { body: { query: 'heron' } },
      { body: { query: 'heron', spaces: ['private:alice', 'team:red'] } },
      { body: { query: 'heron', spaces: ['private:*', '*'] } },
    ],
  },
  'GET /reliability/report': { calls: [{}] },
  'POST /governance/settings/update': { calls: [{ body: { team_write_enabled: true, actor_user_id: 'alice' } }] },
  'POST /mcp': {
    calls: [
      { body: rpc('ping', {}) },
      { body: rpc('tools/list', {}) },
      { body: rpc('resources/list', {}) },
      { body: rpc('prompts/list', {}) },
    ],
  },
  'GET /mcp': { calls: [] },
  'DELETE /mcp': { calls: [] },
  'GET /ws': { calls: [] },
});

/** The data directory contains alice's data: its files must not bypass the rules. */
const stored = '{root}/data/mortise.db';

/** Tools, called over MCP, or directly if they are for agents. A shell has the rights of the process, as documented. */
const tools: Readonly<Record<string, Row>> = {
  memory_store: {
    calls: [tool('memory_store', { payload_md: 'planted', target_space: 'private:alice', actor_user_id: 'alice' })],
  },
  memory_query: {
    shown: true,
    calls: [
      tool('memory_query', { query: 'heron' }),
      tool('memory_query', { query: 'heron', spaces: ['private:alice', 'team:red'] }),
    ],
  },
  reliability_report: { calls: [tool('reliability_report', {})] },
  governance_update: { calls: [tool('governance_update', { team_write_enabled: true, actor_user_id: 'alice' })] },
  evidence_upload: {
    calls: [tool('evidence_upload', { content: 'x', content_type: 'text/plain', actor_user_id: 'alice' })],
  },
  view: { calls: [agentTool('view', { path: stored, start: 1, end: 400 })] },
  edit: { calls: [agentTool('edit', { path: stored, start: 1, end: 1, content: '' })] },
  find: {
    calls: [
      agentTool('find', { path: '.', pattern: 'of-alice' }),
      agentTool('find', { path: '{root}/data', pattern: 'of-alice' }),
    ],
  },
  claude_read: { calls: [agentTool('claude_read', { file_path: stored })] },
  claude_write: { calls: [agentTool('claude_write', { file_path: stored, content: '' })] },
  claude_edit: { calls: [agentTool('claude_edit', { file_path: stored, old_string: 'walrus', new_string: 'x' })] },
  claude_multi_edit: {
    calls: [agentTool('claude_multi_edit', { file_path: stored, edits: [{ old_string: 'walrus', new_string: 'x' }] })],
  },
  claude_notebook_read: { calls: [agentTool('claude_notebook_read', { notebook_path: stored })] },
  claude_notebook_edit: { calls: [agentTool('claude_notebook_edit', { notebook_path: stored, new_source: '' })] },
  claude_ls: { calls: [agentTool('claude_ls', { path: 'data' })] },
  claude_glob: { calls: [agentTool('claude_glob', { pattern: '**/*' })] },
  claude_grep: { calls: [agentTool('claude_grep', { pattern: '(walrus|heron).of.alice', output_mode: 'content' })] },
  shell: { calls: [agentTool('shell', { command: 'env' })] },
  exec_command: { calls: [agentTool('exec_command', { cmd: 'env' })] },
  write_stdin: { calls: [1, 2, 3].map((session_id) => agentTool('write_stdin', { session_id, chars: 'x' })) },
  spawn_agent: { calls: [agentTool('spawn_agent', { message: 'hi' })] },
  send_input: { calls: [agentTool('send_input', { id: 'none', message: 'hi' })] },
  resume_agent: { calls: [agentTool('resume_agent', { id: 'none' })] },
  wait: { calls: [agentTool('wait', { ids: ['none'], timeout_ms: 1 })] },
  close_agent: { calls: [agentTool('close_agent', { id: 'none' })] },
  'browser*': { calls: [tool('browser', {})] },
  'mcp__*': { calls: [tool('mcp__none__none', {})] },
  update_plan: { calls: [agentTool('update_plan', { plan: [] })] },
  request_user_input: { calls: [agentTool('request_user_input', { questions: [] })] },
  self_ops: {
    calls: [
      { action: 'set_session_model', session_id: session, user_id: 'alice', provider_id: 'demo', model: 'demo-chat' },
      { action: 'bootstrap_session', session_seed: session, user_id: 'alice', first_input: 'again' },
      {
        action: 'preview_mutation',
        target: 'provider_config',
        operations: [{ kind: 'json_patch', patch: [{ op: 'test', path: '', value: {} }] }],
      },
      { action: 'apply_mutation', mutation_id: 'none', confirm_hash: 'none' },
    ].map((input) => ({
      path: '/agent/process',
      body: { ...message('{caller}', 'x'), session_id: 'tools', biz_params: { tool: { name: 'self_ops', input } } },
    })),
  },
  apply_patch: {
    calls: [agentTool('apply_patch', { patch: `*** Begin Patch\n*** Delete File: ${stored}\n*** End Patch` })],
  },
  'search*': { calls: [tool('search', { query: 'x' })] },
  kb_search: { calls: [agentTool('kb_search', { query: 'heron walrus' })] },
  kb_read: { calls: [agentTool('kb_read', { path: '../data/x.md' }), agentTool('kb_read', { path: 'nothing.md' })] },
  'suggest_tuning*': { calls: [tool('suggest_tuning', {}), tool('suggest_tuning_apply', {})] },
};

const command = (args: readonly string[] = [], options: object = {}) => ({ body: { args, options } });
const onJob: Row = { calls: [command(['alices-job'])] };
const asAlice = { user_id: 'alice', first_input: 'again', session_seed: session };

/** Commands that every key may run. */
const commands: Readonly<Record<string, Row>> = {
  'channels-list': { calls: [command()] },
  'channels-types': { calls: [command()] },
  'channels-get': { calls: [command(['console'])] },
  'channels-set': { calls: [command(['console'], { body: '{}' })] },
  observe: {
    calls: [
      command([], { text: 'hi', session: `console:alice:${session}` }),
      command([], { file: JSON.stringify({ ...observation, actor: { actor_type: 'user', actor_id: 'alice' } }) }),
    ],
  },
  'cron-list': { shown: true, calls: [command()] },
  'cron-create': { calls: [command([], { body: JSON.stringify(job('alices-job', '{caller}')) })] },
  'cron-update': { calls: [command(['alices-job'], { body: JSON.stringify(job('alices-job', '{caller}')) })] },
  'cron-delete': onJob,
  'cron-pause': onJob,
  'cron-resume': onJob,
  'cron-run': onJob,
  'cron-state': { shown: true, ...onJob },
  'cron-runs': onJob,
  'cron-slots': onJob,
  'cron-preview': onJob,
  'cron-cancel': { calls: [command(['none'])] },
  'env-list': { calls: [command()] },
  'env-set': { calls: [command([], { body: '{}' })] },
  'env-delete': { calls: [command(['NONE'])] },
  'gate-status': { calls: [command()] },
  'gate-pools': { shown: true, calls: ['drop', 'sink', 'tool'].map((pool) => command([pool])) },
  'gate-explain': {
    calls: [
      command([], { text: 'hi', session: `console:alice:${session}` }),
      command([], { text: 'hi', actor: 'alice' }),
    ],
  },
  'kb-refresh': { calls: [command([], { path: ['nothing.md'] }), command([], { root: '{root}/data' })] },
  'kb-search': { calls: [command(['heron walrus of-alice']), command(['heron'], { root: '{root}/data' })] },
  'kb-explain': { calls: [command(['chunk_0']), command(['kb:chunk_0:a.md#L1-L2'], { root: '{root}/data' })] },
  'kb-inspect': { calls: [command(['chunk_0'])] },
  'kb-stats': { calls: [command(), command([], { root: '{root}/data' })] },
  'kb-sources': { calls: [command(), command([], { root: '{root}/data' })] },
  layers: { calls: [command(), command([], { sessionId: session })] },
  'mcp-list': { calls: [command()] },
  'memory-report': { calls: [command()] },
  'models-list': { calls: [command()] },
  'models-config': { calls: [command(['walk'], { enabled: 'false' })] },
  'models-active-get': { calls: [command()] },
  'models-active-set': { calls: [command([], { providerId: 'demo', model: 'demo-chat' })] },
  'models-delete': { calls: [command(['walk'])] },
  'self-bootstrap': { calls: [command([], { body: JSON.stringify(asAlice) })] },
  'self-model': {
    calls: [
      command([session], { body: JSON.stringify({ user_id: 'alice', provider_id: 'demo', model: 'demo-chat' }) }),
    ],
  },
  'self-preview': {
    calls: [
      command([], {
        body: JSON.stringify({
          target: 'workspace_file',
          operations: [{ kind: 'replace', path: 'prompts/walk.md', value: 'of-alice' }],
        }),
      }),
    ],
  },
  'self-apply': { calls: [command([], { body: '{"mutation_id":"none","confirm_hash":"none"}' })] },
  'skills-list': { calls: [command()] },
  'skills-enable': { calls: [command(['none'])] },
  'skills-disable': { calls: [command(['none'])] },
  'skills-delete': { calls: [command(['none'])] },
  'workspace-ls': { calls: [command()] },
  'workspace-cat': { calls: [command(['config/envs.json']), command(['prompts/../data/mortise.db'])] },
  'workspace-put': { calls: [command([], { path: 'prompts/walk.md', file: 'x' })] },
  'workspace-rm': { calls: [command(['skills/none.json'])] },
};

/** Commands that a key of one user may not run, because they show or change data of all users. */
const refusedCommands: readonly (readonly [key: string, input: object])[] = [
  ['channels-list', {}],
  ['channels-get', { args: ['console'] }],
  ['channels-set', { args: ['console'], options: { body: '{}' } }],
  ['env-list', {}],
  ['env-set', { options: { body: '[]' } }],
  ['env-delete', { args: ['NONE'] }],
  ['models-config', { args: ['walk'], options: { enabled: 'false' } }],
  ['models-active-set', { options: { providerId: 'demo', model: 'demo-chat' } }],
  ['models-delete', { args: ['walk'] }],
  ['skills-enable', { args: ['none'] }],
  ['skills-disable', { args: ['none'] }],
  ['skills-delete', { args: ['none'] }],
  ['workspace-ls', {}],
  ['workspace-cat', { args: ['config/envs.json'] }],
  ['workspace-put', { options: { path: 'prompts/walk.md', file: 'x' } }],
  ['workspace-rm', { args: ['skills/none.json'] }],
];

/** Methods of the socket. */
const socketMethods: Readonly<Record<string, { readonly params: readonly object[]; readonly shown?: true }>> = {
  'chat.send': {
    params: [
      { session_id: session, user_id: 'alice', channel: 'console', content: 'again' },
      { session_id: session, channel: 'console', content: 'again' },
    ],
  },
  'chat.history': {
    shown: true,
    params: [
      { session_id: session, user_id: 'alice', channel: 'console', detail: true },
      { session_id: session, channel: 'console' },
    ],
  },
  'chat.cancel': { params: [{ session_id: session, user_id: 'alice', channel: 'console' }, { request_id: 'r-1' }] },
  'session.list': { shown: true, params: [{ user_id: 'alice', channel: 'console' }, { channel: 'console' }, {}] },
  'session.watch': {
    params: [
      { session_id: session, user_id: 'alice', channel: 'console' },
      { session_id: session, channel: 'console' },
    ],
  },
  'session.unwatch': { params: [{ session_id: session, user_id: 'alice', channel: 'console' }] },
};

async function enabledManifests(): Promise<readonly PluginManifest[]> {
  const { plugins } = JSON.parse(await readFile(join(project, 'plugins.json'), 'utf8')) as {
    readonly plugins: Readonly<Record<string, { readonly enabled: boolean }>>;
  };
  const folders = (await readdir(join(project, 'plugins'))).filter((key) => plugins[key]?.enabled);
  const files = folders.map((key) => readFile(join(project, 'plugins', key, 'plugin.json'), 'utf8'));
  return (await Promise.all(files)).map((text) => JSON.parse(text) as PluginManifest);
}

const keysOf = (manifests: readonly PluginManifest[], point: string): readonly string[] =>
  manifests.flatMap(({ contributes }) =>
    (contributes?.[point] ?? []).map((one) => (typeof one === 'string' ? one : one.key)),
  );

describe('a key that is bound to a user or to spaces', function () {
  this.timeout(120_000);
  let manifests: readonly PluginManifest[];

  eachDatabase(
    (engine) => {
      let host: TestHost;
      let own: AliceData;

      before(async () => {
        manifests = await enabledManifests();
        host = await createTestHost({
          // The model below takes the place of the demo provider.
          plugins: manifests.map(({ key }) => key).filter((key) => key !== 'provider-demo'),
          env: { MORTISE_API_KEYS: JSON.stringify(Object.values(keys)), MORTISE_OUTBOX_WORKER: 'false' },
          database: engine.env,
          extra: [model.plugin],
        });
        await host
          .service('logbook')
          .settings.update(
            'default',
            { teamWriteEnabled: true, policy: { require_evidence: false } },
            { updatedBy: 'test' },
          );
        own = await settle(host);
      });
      after(() => host.stop());

      async function ask(caller: Caller, method: string, path: string, given?: unknown): Promise<string> {
        const user = caller === 'bot' || caller === 'operator' ? keys[caller].id : caller;
        const body: unknown =
          given === undefined
            ? undefined
            : JSON.parse(JSON.stringify(given).replaceAll('{caller}', user).replaceAll('{root}', host.dataDir));
        const response = await host.fetch(path, {
          method,
          headers: { ...headersOf(caller), ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        return `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`;
      }

      /** Data of alice in an answer, except for values that the caller sent. */
      const foreign = (answer: string, given: unknown): readonly string[] => {
        const named = JSON.stringify(given);
        return [...texts, own.chat, own.turn, own.observation].filter(
          (one) => answer.includes(one) && !named.includes(one),
        );
      };

      async function walk(
        name: string,
        row: Row,
        send: (caller: Caller, call: Call) => Promise<string>,
      ): Promise<void> {
        for (const caller of outsiders) {
          for (const call of row.calls) {
            expect(
              foreign(await send(caller, call), call),
              `${name}, ${caller}: ${JSON.stringify(call)}`,
            ).to.deep.equal([]);
          }
        }
        if (!row.shown) return;
        const answers = await Promise.all(row.calls.map((call) => send('alice', call)));
        const seen = answers.flatMap((answer, index) => foreign(answer, row.calls[index]));
        expect(seen, `what alice sees of ${name}: ${answers.join('\n')}`).to.not.deep.equal([]);
      }

      it('sees no data of another user on any route', async () => {
        const rows = routes(own);
        const without = new Set(Object.keys(rows).filter((name) => !platform.includes(name)));
        for (const name of platform)
          await walk(name, rows[name] ?? { calls: [] }, (caller) => ask(caller, 'GET', name.slice(4)));
        for (const { permissions } of manifests) {
          for (const { kind, method, path, auth } of permissions?.routes ?? []) {
            if (kind === 'static') continue;
            for (const one of kind === 'upgrade' ? ['GET'] : [method ?? 'GET'].flat()) {
              const name = `${one} ${path}`;
              if (auth === 'admin') {
                for (const caller of outsiders) {
                  const answer = await ask(caller, one, path.replaceAll(/:\w+/g, 'x'), one === 'GET' ? undefined : {});
                  expect(answer, `${caller} ${name}`).to.match(/^403 /);
                }
                continue;
              }
              const row = rows[name];
              expect(row, `a row for ${name}`).to.not.equal(undefined);
              without.delete(name);
              if (row) await walk(name, row, (caller, call) => ask(caller, one, call.path ?? path, call.body));
            }
          }
        }
        expect([...without], 'rows without a route').to.deep.equal([]);
        // The calls have changed and removed no data of alice.
        expect(await ask('alice', 'GET', `/chats/${own.chat}`)).to.match(/^200 /);
        expect(await ask('alice', 'GET', `/chats/${own.chat}`))
          .to.include('walrus-of-alice')
          .and.not.include('planted');
        expect(await ask('alice', 'POST', '/memory/query', { query: 'planted' })).to.not.include('"planted"');
      });

      it('sees no data of another user through any command, and runs none that needs the admin right', async () => {
        const declared = manifests.flatMap(({ contributes }) => contributes?.command ?? []);
        const facts = declared.map((one) => {
          if (typeof one === 'string') throw new Error(`${one} has no facts in its manifest`);
          return { key: one.key, auth: (one.facts as unknown as CommandFacts).auth ?? 'admin' };
        });
        const own = facts.filter(({ auth }) => auth === 'key').map(({ key }) => key);
        expect(own.sort(), 'a row for each').to.deep.equal(Object.keys(commands).sort());
        const run = (caller: Caller, key: string, body: unknown) => ask(caller, 'POST', `/admin/commands/${key}`, body);
        for (const [key, row] of Object.entries(commands)) {
          await walk(key, row, (caller, { body }) => run(caller, key, body));
        }
        for (const { key, auth } of facts) {
          if (auth === 'key') continue;
          for (const caller of outsiders) {
            const answer = await run(caller, key, { args: [], options: {} });
            expect(answer, `${caller} ${key}`).to.match(/^403 /).and.include('admin_required');
          }
        }
        expect(await ask('alice', 'GET', '/cron/jobs/alices-job')).to.match(/^200 /);
      });

      it('cannot run commands that affect all users', async () => {
        for (const [key, input] of refusedCommands) {
          for (const caller of outsiders) {
            const answer = await ask(caller, 'POST', `/admin/commands/${key}`, { args: [], options: {}, ...input });
            expect(answer, `${caller} ${key}`).to.match(/^403 /).and.include('"forbidden"');
          }
        }
      });

      it('sees no data of another user through any tool', async () => {
        const names = keysOf(manifests, 'tool');
        expect([...names].sort()).to.deep.equal(Object.keys(tools).sort());
        for (const [name, row] of Object.entries(tools)) {
          await walk(name, row, (caller, { path = '/mcp', body }) => ask(caller, 'POST', path, body));
        }
      });

      it('sees no data of another user through any method of the socket', async () => {
        const methods = keysOf(manifests, 'socket-method');
        const sockets = new Map<Caller, SocketClient>();
        for (const caller of [...outsiders, 'alice'] as const) {
          sockets.set(caller, await SocketClient.open(host.origin, { headers: headersOf(caller) }));
        }
        const [unknown] = (await sockets.get('alice')?.ask('there.is.none')) ?? [];
        const known = (unknown?.error?.details?.known ?? []) as readonly string[];
        expect([...known, ...methods].sort()).to.deep.equal(Object.keys(socketMethods).sort());
        for (const [method, { params, shown }] of Object.entries(socketMethods)) {
          const row = { calls: params.map((body) => ({ body })), ...(shown ? { shown } : {}) };
          await walk(method, row, async (caller, { body }) =>
            JSON.stringify(await sockets.get(caller)?.ask(method, body as object)),
          );
        }
        // Session events are pushed to watchers: alice continues, and no outsider receives them.
        await ask('alice', 'POST', '/agent/process', message('alice', 'the walrus-of-alice once more'));
        for (const caller of outsiders) {
          const frames = JSON.stringify(sockets.get(caller)?.frames);
          expect(frames, caller).to.not.include('walrus-of-alice').and.not.include('heron-of-alice flies');
        }
        for (const client of sockets.values()) await client.close();
      });
    },
    { keepRows: true },
  );
});

/** Gives alice a chat with a turn, memories, and a dropped observation. */
async function settle(host: TestHost): Promise<AliceData> {
  const post = async (path: string, body: unknown, caller: Caller = 'alice') => {
    const response = await host.post(path, body, headersOf(caller));
    return { response, body: (await response.json()) as Readonly<Record<string, unknown>> };
  };
  for (const [space, text] of [
    ['private:alice', 'The heron-of-alice nests.'],
    ['team:red', 'The walrus-of-alice swims, says the heron.'],
  ]) {
    const stored = await post('/memory/store', { payload_md: text, target_space: space });
    expect(stored.body, JSON.stringify(stored.body)).to.include({ ok: true, action: 'allow' });
  }
  const planned = await post('/cron/jobs', job('alices-job', 'alice', 'feed the walrus-of-alice'));
  expect(planned.response.status, JSON.stringify(planned.body)).to.equal(200);
  const turn = await post('/agent/process', message('alice', 'I met a walrus-of-alice.'));
  expect(turn.response.status, JSON.stringify(turn.body)).to.equal(200);
  const chats = (await (await host.fetch('/chats', { headers: headersOf('alice') })).json()) as { id: string }[];
  await post('/gate/overrides', { overrides: { drop_actors: ['alice'] }, reason: 'test' }, 'operator');
  let dropped: Readonly<Record<string, unknown>> = {};
  await until('a dropped observation', async () => {
    // Without an actor it belongs to alice, whose key sends it.
    const sent = { source_name: 'walk', session_key: session };
    const answer = await post('/observations?wait=decision', { ...sent, payload: { text: 'a walrus-of-alice' } });
    dropped = answer.body;
    return (answer.body.decision as { action?: string } | undefined)?.action === 'drop';
  });
  await host.fetch('/gate/overrides/drop_actors', { method: 'DELETE', headers: headersOf('operator') });
  await until('the end of the override', async () => {
    const status = await host.fetch('/gate/status', { headers: headersOf('operator') });
    return !(await status.text()).includes('drop_actors":["alice');
  });
  return {
    chat: chats[0]?.id ?? '',
    turn: turn.response.headers.get('x-turn-id') ?? '',
    observation: String(dropped.obs_id),
    correlation: turn.response.headers.get('x-correlation-id') ?? '',
  };
}
