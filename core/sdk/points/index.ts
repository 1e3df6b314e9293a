import type { Channel, ChannelFacts } from './channel.js';
import type { Command, CommandFacts } from './command.js';
import type { CronNode, CronNodeFacts } from './cron-node.js';
import type { GateStage, GateStageFacts } from './gate-stage.js';
import type { MemoryBackend, MemoryBackendFacts } from './memory-backend.js';
import type { PromptSource, PromptSourceFacts } from './prompt-source.js';
import type { Provider, ProviderFacts } from './provider.js';
import type { RouteContribution } from './route.js';
import type { Tool, ToolFacts } from './tool.js';

/** Type of the contributions of each point. Plugins extend it by declaration merging. */
export interface ExtensionPoints {
  provider: Provider;
  channel: Channel;
  tool: Tool;
  'prompt-source': PromptSource;
  'cron-node': CronNode;
  'memory-backend': MemoryBackend;
  'gate-stage': GateStage;
  route: RouteContribution;
  command: Command;
}

/** Type of the facts of each point: the data that a manifest may carry and callers may read. */
export interface ExtensionPointFacts {
  provider: ProviderFacts;
  channel: ChannelFacts;
  tool: ToolFacts;
  'prompt-source': PromptSourceFacts;
  'cron-node': CronNodeFacts;
  'memory-backend': MemoryBackendFacts;
  'gate-stage': GateStageFacts;
  route: Readonly<Record<string, unknown>>;
  command: CommandFacts;
}
