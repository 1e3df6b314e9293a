import type { PromptLayer, PromptRequest } from 'mortise/sdk';
import type { LayerPlan, PlannedLayer } from './build-mode.js';
import type { Config } from './config.generated.js';
import { toolGuidePaths } from './default-mode.js';

export const codexRoot = 'prompts/codex/codex-rs/core';
const instructionsPath = `${codexRoot}/templates/model_instructions/gpt-5.2-codex_instructions_template.md`;
export const personalityPath = `${codexRoot}/templates/personalities/gpt-5.2-codex_pragmatic.md`;
export const instructionsLayer = 'codex_model_instructions_system';

/** Known modes and the names of their layers and files. */
const collaborationFiles: Readonly<Record<string, string>> = {
  Default: 'default',
  Plan: 'plan',
  Execute: 'execute',
  PairProgramming: 'pair_programming',
};

type TaskFiles = readonly (readonly [layer: string, file: string])[];

const taskFiles: Readonly<Record<string, TaskFiles>> = {
  review: [
    ['codex_review_system', 'review_prompt.md'],
    ['codex_review_history_completed_system', 'templates/review/history_message_completed.md'],
    ['codex_review_history_interrupted_system', 'templates/review/history_message_interrupted.md'],
  ],
  compact: [
    ['codex_compact_prompt_system', 'templates/compact/prompt.md'],
    ['codex_compact_summary_prefix_system', 'templates/compact/summary_prefix.md'],
  ],
  memory: [
    ['codex_memories_read_path_system', 'templates/memories/read_path.md'],
    ['codex_memories_stage_one_system', 'templates/memories/stage_one_system.md'],
    ['codex_memories_stage_one_input_system', 'templates/memories/stage_one_input.md'],
    ['codex_memories_consolidation_system', 'templates/memories/consolidation.md'],
  ],
};

interface CodexInput {
  readonly config: Config;
  readonly request: PromptRequest;
  /** Absolute path of the folder of memories. */
  readonly memories: string;
  /** Text of the personality file, if there is one. */
  readonly personality: string | undefined;
  /** Text of the stored memory summary, if there is one. */
  readonly memorySummary: string | undefined;
  /** Model instructions that replace those of the file. */
  readonly instructions: PromptLayer | undefined;
}

/** The layers of the codex mode, in the layout that the settings choose. */
export function codexPlan(input: CodexInput): readonly PlannedLayer[] {
  const { config, request, instructions } = input;
  const variables = templateVariables(input);
  const required = config.shipped_texts ? 'or-shipped' : 'yes';
  const optional = (name: string, file: string): LayerPlan => ({
    name,
    paths: [`${codexRoot}/${file}`],
    required: 'no',
    variables,
  });
  const base: PlannedLayer = { name: 'codex_base_system', paths: [`${codexRoot}/prompt.md`], required };
  const policy: PlannedLayer = { name: 'codex_local_policy_system', paths: ['prompts/AGENTS.md'], required: 'no' };
  const tasks = taskFiles[request.taskCommand ?? ''] ?? [];
  const taskLayers = tasks.map(([name, file]) => optional(name, file));
  const mode = collaborationFiles[request.collaborationMode ?? 'Default'] ?? 'default';
  const templates: readonly PlannedLayer[] = [
    optional('codex_orchestrator_system', 'templates/agents/orchestrator.md'),
    instructions ?? { ...optional(instructionsLayer, ''), paths: [instructionsPath] },
    optional(`codex_collaboration_${mode}_system`, `templates/collaboration_mode/${mode}.md`),
    ...taskLayers,
    optional('codex_experimental_collab_system', 'templates/collab/experimental_prompt.md'),
  ];
  if (config.enable_codex_mode_v2) {
    const guide: PlannedLayer = { name: 'codex_tool_guide_system', paths: toolGuidePaths(config), required: 'no' };
    return [base, ...templates, policy, guide];
  }
  if (config.enable_prompt_templates) return [base, ...templates, policy];
  return [base, ...taskLayers.filter(({ name }) => name === 'codex_review_system'), policy];
}

function templateVariables({ config, request, memories, personality, memorySummary }: CodexInput) {
  const tools = request.tools ?? [];
  return {
    personality: personality?.trim(),
    KNOWN_MODE_NAMES: 'Default, Plan, Execute, and PairProgramming',
    REQUEST_USER_INPUT_AVAILABLE: String(tools.includes('request_user_input')),
    TURN_MODE: request.collaborationMode ?? 'Default',
    TURN_AVAILABLE_TOOLS: tools.join(', '),
    TURN_APPROVAL_POLICY: 'never',
    TURN_SANDBOX_POLICY: config.file_roots.trim() === '*' ? 'danger-full-access' : 'workspace-write',
    TURN_MCP_STATUS: namesOf(request.meta?.mcp_status ?? request.meta?.mcp),
    TURN_DYNAMIC_TOOLS: namesOf(request.meta?.dynamic_tools ?? request.meta?.runtime_tools),
    memory_root: memories,
    base_path: memories,
    memory_summary: memorySummary?.trim(),
  };
}

/** The names in a list of tools or servers, or its JSON; `none` without any. */
function namesOf(value: unknown): string {
  if (value === undefined || value === null) return 'none';
  if (!Array.isArray(value)) return typeof value === 'string' ? value : JSON.stringify(value);
  const names = value.map((entry: unknown) => {
    const name = typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : entry;
    return typeof name === 'string' ? name : JSON.stringify(name);
  });
  return names.join(', ') || 'none';
}

/** The priority of a layer among equal texts: the codex texts before local policy and tool guide. */
export function codexPriority({ name }: PromptLayer): number {
  if (name === 'codex_local_policy_system') return 200;
  if (name === 'codex_tool_guide_system') return 100;
  return name.startsWith('codex_') ? 300 : 0;
}
