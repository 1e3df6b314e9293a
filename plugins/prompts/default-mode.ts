import { type PromptLayer, type PromptRequest, promptLayer } from 'mortise/sdk';
import type { PlannedLayer } from './build-mode.js';
import type { Config } from './config.generated.js';

const maxPolicyLength = 4_000;

/** The files of the tool guide, in the order in which they are looked for. */
export function toolGuidePaths({ ai_tools_guide_path: own }: Pick<Config, 'ai_tools_guide_path'>): readonly string[] {
  const known = ['prompts/ai-tools.md', 'docs/AI/AGENTS.md', 'docs/AI/ai-tools.md', 'docs/ai-tools.md'];
  return own === '' ? known : [own, ...known];
}

/** The layers of the default mode. */
export function defaultPlan(
  config: Config,
  { meta = {} }: Pick<PromptRequest, 'meta'>,
  workspace: string,
): readonly PlannedLayer[] {
  return [
    { name: 'base_system', paths: ['prompts/AGENTS.md'], required: 'or-shipped' },
    { name: 'tool_guide_system', paths: toolGuidePaths(config), required: 'or-shipped' },
    { name: 'workspace_policy_system', paths: ['prompts/workspace-policy.md'], required: 'no' },
    sessionPolicy(meta.session_policy) ?? {
      name: 'session_policy_system',
      paths: ['prompts/session-policy.md'],
      required: 'no',
    },
    config.enable_prompt_context_introspect ? environmentLayer(config, workspace) : undefined,
  ];
}

function sessionPolicy(policy: unknown): PromptLayer | undefined {
  if (typeof policy !== 'string' || policy.trim() === '' || [...policy].length > maxPolicyLength) return undefined;
  return promptLayer('session_policy_system', 'session://policy', policy);
}

function environmentLayer({ network_access: network }: Config, workspace: string): PromptLayer {
  const children = { cwd: workspace, shell: process.env.SHELL || 'unknown', network: network || 'unknown' };
  const lines = Object.entries(children).map(([name, value]) => `  <${name}>${escapeXml(value)}</${name}>`);
  const text = ['<environment_context>', ...lines, '</environment_context>'].join('\n');
  return promptLayer('environment_context_system', 'runtime', text);
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
