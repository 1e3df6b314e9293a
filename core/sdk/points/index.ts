import { type Channel, type ChannelFacts, channelPoint } from './channel.js';
import { type Command, type CommandFacts, commandPoint } from './command.js';
import { type CronNode, type CronNodeFacts, cronNodePoint } from './cron-node.js';
import { type GateStage, type GateStageFacts, gateStagePoint } from './gate-stage.js';
import { type MemoryBackend, type MemoryBackendFacts, memoryBackendPoint } from './memory-backend.js';
import type { ExtensionPointDeclaration } from './point.js';
import { type PromptSource, type PromptSourceFacts, promptSourcePoint } from './prompt-source.js';
import { type Provider, type ProviderFacts, providerPoint } from './provider.js';
import { type RouteContribution, routePoint } from './route.js';
import { type Tool, type ToolFacts, toolPoint } from './tool.js';

export * from './channel.js';
export * from './command.js';
export * from './cron-node.js';
export * from './gate-stage.js';
export * from './memory-backend.js';
export * from './point.js';
export * from './prompt-source.js';
export * from './provider.js';
export * from './route.js';
export * from './tool.js';

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

/** The extension points of the platform: a new one is a row here and a file next to this one. */
export const extensionPoints: readonly ExtensionPointDeclaration[] = [
  providerPoint,
  channelPoint,
  toolPoint,
  promptSourcePoint,
  cronNodePoint,
  memoryBackendPoint,
  gateStagePoint,
  routePoint,
  commandPoint,
];
