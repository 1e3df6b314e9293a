import { join } from 'node:path';
import type { JsonObject, Logger, PromptLayer, PromptSource } from 'mortise/sdk';
import { promptLayer } from 'mortise/sdk';
import { LayerBuilder, type PlannedLayer } from './build-mode.js';
import { catalogueInstructions, compareWithCatalogue } from './codex-catalogue.js';
import { codexPlan, codexPriority, instructionsLayer, personalityPath } from './codex-mode.js';
import type { Config } from './config.generated.js';
import { defaultPlan } from './default-mode.js';
import { withoutDuplicates } from './layer-hash.js';
import { memoryFiles, memoryFolder, workspacePath } from './memories/memory-folder.js';
import type { PromptFiles } from './prompt-files.js';

interface SourceDeps {
  readonly config: Config;
  readonly files: PromptFiles;
  /** Absolute path of the workspace. */
  readonly workspace: string;
  readonly log: Logger;
}

type Build = PromptSource['build'];

const claudeRoot = 'prompts/claude/claude-code-reverse';

/** Builds the layers of each prompt mode. */
export function promptSources({
  config,
  files,
  workspace,
  log,
}: SourceDeps): Readonly<Record<'default' | 'codex' | 'claude', Build>> {
  const builder = new LayerBuilder(files, log);
  const catalogue = async (model: string | undefined): Promise<PromptLayer | undefined> => {
    try {
      return await catalogueInstructions(files, model);
    } catch (error) {
      log.warn(
        { reason: error instanceof Error ? error.message : String(error) },
        'the catalogue of prompts cannot be used',
      );
      return undefined;
    }
  };
  /** A text that a layer includes. One that cannot be read counts as missing. */
  const textOf = async (path: string): Promise<string | undefined> => {
    try {
      return (await files.find([path]))?.text;
    } catch (error) {
      log.warn({ reason: error instanceof Error ? error.message : String(error) }, 'a prompt text cannot be used');
      return undefined;
    }
  };
  return {
    default: (request) => builder.build(defaultPlan(config, request, workspace)),
    async codex(request, { principal }) {
      const model = request.modelSlug;
      const memories = memoryFolder(config, workspace, principal);
      const plan = codexPlan({
        config,
        request,
        memories,
        personality:
          (await textOf(personalityPath)) ?? (config.shipped_texts ? await shippedPersonality(files) : undefined),
        memorySummary: await textOf(workspacePath(workspace, join(memories, memoryFiles.summary))),
        instructions: config.codex_prompt_source === 'catalog' ? await catalogue(model) : undefined,
      });
      const layers = await builder.build(plan);
      if (config.codex_prompt_shadow_compare && config.codex_prompt_source === 'file') {
        const fromFile = layers.find(({ name }) => name === instructionsLayer);
        await compareWithCatalogue(files, { sessionId: request.sessionId, model, fromFile }, log);
      }
      return config.enable_codex_mode_v2 ? withoutDuplicates(layers, codexPriority) : layers;
    },
    async claude() {
      return withoutDuplicates(await builder.build(claudePlan(config)), () => 0);
    },
  };
}

async function shippedPersonality(files: PromptFiles): Promise<string | undefined> {
  return (await files.shipped(personalityPath))?.text;
}

function claudePlan({ shipped_texts: shipped }: Config): readonly PlannedLayer[] {
  const required = shipped ? 'or-shipped' : 'yes';
  const system = (part: string): PlannedLayer => ({
    name: `claude_${part.replace('-', '_')}_system`,
    paths: [`${claudeRoot}/results/prompts/system-${part}.prompt.md`],
    required,
  });
  return [
    system('identity'),
    system('workflow'),
    system('reminder-start'),
    system('reminder-end'),
    { name: 'claude_nextai_tool_adapter_system', paths: [`${claudeRoot}/tool-adapter-nextai.md`], required: 'no' },
  ];
}

const runtimeMembers = ['runtime_tools', 'mcp', 'mcp_tools', 'mcp_status', 'dynamic_tools', 'dynamic'];

/** The layer with the chat's data about the tools of its turns. */
export function turnToolsLayer(meta: JsonObject): readonly PromptLayer[] {
  const given = Object.fromEntries(Object.entries(meta).filter(([member]) => runtimeMembers.includes(member)));
  if (Object.keys(given).length === 0) return [];
  return [promptLayer('turn_runtime_tools_system', 'runtime://turn_tools', JSON.stringify(given, null, 2))];
}
