import { MortiseError, type PluginDefinition, type Tool } from 'mortise/sdk';
import type { TestPlugin } from 'mortise/sdk/testing';

const secret = 'password=hunter2hunter2hunter2 in /srv/app/secret.js';

const facts = { summary: 'Fails.', audience: ['mcp'], inputSchema: { type: 'object' } } as const;

function failsWith(code: string, message: string): Tool {
  return {
    ...facts,
    run() {
      throw new MortiseError(code, message, { status: 403 });
    },
  };
}

const tools: Readonly<Record<string, Tool>> = {
  breaks: {
    ...facts,
    run() {
      throw new TypeError(secret);
    },
  },
  sleeps: {
    ...facts,
    timeoutSeconds: 0.2,
    run: (_args, { signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  },
  refuses_auth: failsWith('AUTH_FAILED', 'The key is not good enough for this tool.'),
  refuses_governance: failsWith('GOVERNANCE_UPDATE_DENIED', 'The policy is not yours to change.'),
};

const failing: PluginDefinition = {
  key: 'failing-tools',
  register(host) {
    for (const [key, tool] of Object.entries(tools)) host.contribute('tool', key, tool);
    host.contribute('memory-policy', 'words', {
      order: 0,
      tools: ['evidence_upload'],
      run: ({ content }) =>
        content === 'forbidden'
          ? { kind: 'reject', reason: 'words', message: 'the word is not welcome' }
          : { kind: 'pass' },
    });
  },
};

const unstarted: PluginDefinition = {
  key: 'unstarted',
  register: (host) => void host.contribute('tool', 'never_started', { ...facts, run: () => ({}) }),
  start() {
    throw new Error('no fuel');
  },
};

/** Plugins whose tools fail in every way that a plugin's tool can. */
export const failingTools: readonly TestPlugin[] = [
  {
    manifest: { key: 'failing-tools', contributes: { tool: Object.keys(tools), 'memory-policy': ['words'] } },
    definition: failing,
  },
  {
    manifest: { key: 'unstarted', contributes: { tool: [{ key: 'never_started', facts }] } },
    definition: unstarted,
  },
];
