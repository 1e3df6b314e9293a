import { type Channel, type ChannelFacts, channelPoint } from './channel.js';
import { type Command, type CommandFacts, commandPoint } from './command.js';
import { type CronNode, type CronNodeFacts, cronNodePoint } from './cron-node.js';
import { type Egress, type EgressFacts, egressPoint } from './egress.js';
import { type Embedder, type EmbedderFacts, embedderPoint } from './embedder.js';
import { type GateStage, type GateStageFacts, gateStagePoint } from './gate-stage.js';
import { type InputAdapter, type InputAdapterFacts, inputAdapterPoint } from './input-adapter.js';
import { type McpCompletion, type McpCompletionFacts, mcpCompletionPoint } from './mcp-completion.js';
import { type McpPrompt, type McpPromptFacts, mcpPromptPoint } from './mcp-prompt.js';
import { type McpResource, type McpResourceFacts, mcpResourcePoint } from './mcp-resource.js';
import { type MemoryBackend, type MemoryBackendFacts, memoryBackendPoint } from './memory-backend.js';
import { type MemoryPolicy, type MemoryPolicyFacts, memoryPolicyPoint } from './memory-policy.js';
import {
  type ObservationHandler,
  type ObservationHandlerFacts,
  observationHandlerPoint,
} from './observation-handler.js';
import type { ExtensionPointDeclaration } from './point.js';
import { type PromptSource, type PromptSourceFacts, promptSourcePoint } from './prompt-source.js';
import { type Provider, type ProviderFacts, providerPoint } from './provider.js';
import { type RouteContribution, routePoint } from './route.js';
import { type SocketMethod, type SocketMethodFacts, socketMethodPoint } from './socket-method.js';
import { type Tool, type ToolFacts, toolPoint } from './tool.js';

export * from './channel.js';
export * from './command.js';
export * from './cron-node.js';
export * from './egress.js';
export * from './embedder.js';
export * from './gate-stage.js';
export * from './input-adapter.js';
export * from './mcp-completion.js';
export * from './mcp-content.js';
export * from './mcp-prompt.js';
export * from './mcp-resource.js';
export * from './memory-backend.js';
export * from './memory-policy.js';
export * from './observation-handler.js';
export * from './point.js';
export * from './prompt-source.js';
export * from './provider.js';
export * from './route.js';
export * from './socket-method.js';
export * from './tool.js';

/** What can be contributed, by point. Plugins widen it by declaration merging. */
export interface ExtensionPoints {
  provider: Provider;
  channel: Channel;
  tool: Tool;
  'prompt-source': PromptSource;
  'cron-node': CronNode;
  'memory-backend': MemoryBackend;
  'memory-policy': MemoryPolicy;
  'gate-stage': GateStage;
  embedder: Embedder;
  route: RouteContribution;
  command: Command;
  'socket-method': SocketMethod;
  egress: Egress;
  'input-adapter': InputAdapter;
  'observation-handler': ObservationHandler;
  'mcp-resource': McpResource;
  'mcp-prompt': McpPrompt;
  'mcp-completion': McpCompletion;
}

/** The data part of each point: what a manifest may carry, and what anyone may read. */
export interface ExtensionPointFacts {
  provider: ProviderFacts;
  channel: ChannelFacts;
  tool: ToolFacts;
  'prompt-source': PromptSourceFacts;
  'cron-node': CronNodeFacts;
  'memory-backend': MemoryBackendFacts;
  'memory-policy': MemoryPolicyFacts;
  'gate-stage': GateStageFacts;
  embedder: EmbedderFacts;
  route: Readonly<Record<string, unknown>>;
  command: CommandFacts;
  'socket-method': SocketMethodFacts;
  egress: EgressFacts;
  'input-adapter': InputAdapterFacts;
  'observation-handler': ObservationHandlerFacts;
  'mcp-resource': McpResourceFacts;
  'mcp-prompt': McpPromptFacts;
  'mcp-completion': McpCompletionFacts;
}

/** The table of extension points: a new one is a row here and a file beside it. */
export const extensionPoints: readonly ExtensionPointDeclaration[] = [
  providerPoint,
  channelPoint,
  toolPoint,
  promptSourcePoint,
  cronNodePoint,
  memoryBackendPoint,
  memoryPolicyPoint,
  gateStagePoint,
  embedderPoint,
  routePoint,
  commandPoint,
  socketMethodPoint,
  egressPoint,
  inputAdapterPoint,
  observationHandlerPoint,
  mcpResourcePoint,
  mcpPromptPoint,
  mcpCompletionPoint,
];
