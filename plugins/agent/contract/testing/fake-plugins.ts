import type { GateAction } from 'mortise/contracts/gate';
import type { ToolFacts } from 'mortise/sdk';
import { contributing, type TestPlugin } from 'mortise/sdk/testing';

/** A tool for agents with the argument `text`. */
export function fakeTool(
  name: string,
  run: (args: Readonly<Record<string, unknown>>, ctx: { readonly signal: AbortSignal }) => object | Promise<object>,
  facts: Partial<ToolFacts> = {},
): TestPlugin {
  const all: ToolFacts = {
    summary: 'Made by a test.',
    audience: ['agent'],
    inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
    ...facts,
  };
  return contributing('tool', name, all, { run }, `tool-${name.replaceAll('_', '-')}`);
}

/** A tool that returns its `text`. */
export const echoTool = fakeTool('echo', ({ text }) => ({ echoed: text ?? '' }));

/** A gate with the decisions of a test. */
export function fakeGate(decide: () => { readonly action: GateAction | string; readonly reason: string }): TestPlugin {
  return {
    manifest: { key: 'gate', provides: ['gate'] },
    definition: {
      key: 'gate',
      register(host) {
        host.provide('gate', {
          handle({ trace_id }, { sessionKey }) {
            const { action, reason } = decide();
            const decision = {
              action: action as GateAction,
              reason,
              reasons: [reason],
              scene: 'dialogue',
              session_key: sessionKey,
              trace_id,
            };
            return { decision, emit: [], ingest: [] };
          },
          ingest: () => undefined,
        });
      },
    },
  };
}
