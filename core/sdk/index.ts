/**
 * The SDK: everything that a plugin may import. It exports what plugins name. A type that is only part of another is
 * reached through it, such as `ReturnType<MetricsService['gauge']>`.
 */

// What a plugin is, and what it may do.

export type { EnvelopeTemplate, ManifestMount, ManifestRoute, PluginManifest } from './manifest.js';
export type { PluginDefinition, PluginLifecycle, RegisterHost, StartHost, Watched } from './plugin.js';
export type { PluginHealth } from './plugin-health.js';

// Widened by contracts through declaration merging, which works on star exports only.

export * from './events.js';
export * from './points/index.js';
export * from './services.js';

// Each call, its caller and its errors.

export {
  boundUser,
  type CallContext,
  CallView,
  type Disposable,
  extendContext,
  type Logger,
  mayConfigure,
  type Principal,
  platformPrincipal,
} from './context.js';
export {
  type ArgumentReason,
  argumentError,
  errorTable,
  isCodedError,
  MortiseError,
  type MortiseErrorOptions,
} from './errors.js';

// Calls of what other plugins contributed.

export {
  activeByKey,
  type ContributionCache,
  createContributionCache,
} from './contribution-cache.js';
export {
  type CallEnd,
  type CallOptions,
  type Contribution,
  callOptions,
  type HeldCall,
  type Pipeline,
  type PipelineStage,
  type Points,
} from './points.js';

// The extension points of the platform.

export type { Channel, ChannelMessage } from './points/channel.js';
export {
  type ClientCommand,
  type Command,
  type CommandCaller,
  type CommandFacts,
  type CommandInput,
  type CommandResult,
  runsAtCaller,
  type TextSpan,
  wrongUsage,
} from './points/command.js';
export type {
  CronNode,
  CronNodeContext,
  CronNodeFacts,
  CronNodeProblem,
  CronNodeResult,
  CronTurnRequest,
} from './points/cron-node.js';
export type { GateStage, GateStageContext, GateWork } from './points/gate-stage.js';
export type {
  BackendFailure,
  BackendMemory,
  MemoryBackend,
  MemoryBackendContext,
  MemoryBackendFacts,
  MemoryHit,
  MemoryItem,
  MemorySearch,
  StoredMemory,
} from './points/memory-backend.js';
export {
  type PromptLayer,
  type PromptRequest,
  type PromptSource,
  promptLayer,
} from './points/prompt-source.js';
export type {
  GenerateEvent,
  GenerateOption,
  GenerateRequest,
  ModelContentPart,
  ModelFacts,
  ModelMessage,
  ModelToolCall,
  ModelToolDefinition,
  Provider,
  ProviderFacts,
  ProviderSettings,
  RawExchange,
  RawResponseEvent,
  ReasoningEffort,
  ResponseFormat,
  ToolChoice,
} from './points/provider.js';
export type {
  Route,
  RouteContext,
  RouteRequest,
  RouteResponse,
  Socket,
  SocketHandler,
  UpgradeRoute,
} from './points/route.js';
export { explainMembers, type Tool, type ToolContext, type ToolFacts } from './points/tool.js';

// The services of the host.

export type {
  BatchStatement,
  Database,
  Dialect,
  Migration,
  MigrationSchema,
  SqlValue,
  Transaction,
  TransactionOption,
} from './host/database.js';
export type { GuardedFetch, GuardedFetchOptions, OutboundSocket } from './host/fetch.js';
export type { FilesService } from './host/files.js';
export type { HttpService } from './host/http.js';
export type { InstancesService } from './host/instances.js';
export type { LeasesService, NamedLease } from './host/leases.js';
export type { Counter, MetricsService } from './host/metrics.js';
export type {
  Finding,
  PluginControl,
  PluginDetail,
  PluginPlan,
  PluginRow,
  ToggleOptions,
} from './host/plugin-control.js';
export type { ScheduleService } from './host/schedule.js';
export type { SchemasService, ValueIssue, ValueSchema } from './host/schemas.js';
export type { SecretsService } from './host/secrets.js';
export type { SettingsService } from './host/settings.js';

// What points and events carry.

export type { AuditEntry } from './audit-entry.js';
export type {
  Observation,
  ObservationActor,
  ObservationError,
  ObservationInput,
  ObservationType,
  QualityFlag,
} from './observation.js';

// Rows and statements.

export {
  createDrain,
  createGroupCommit,
  createTransactionGroup,
  type Drain,
  type GroupCommit,
  type GroupOutcome,
  WriteBehind,
} from './batching.js';
export { type InsertTarget, insertRows, jsonTexts, lockTable } from './bulk-sql.js';
export { newId } from './new-id.js';
export { openStoredSnapshot, type StoredSnapshot } from './stored-snapshot.js';

// Texts, JSON and time.

export { makeFolders, pathBelow } from './folders.js';
export { canonicalJson, describeValue, isJsonObject, type JsonObject, lostNumber } from './json.js';
export { isSensitiveName, maskDeep, redactSecrets } from './mask.js';
export { listPage, pageOf, readCursor, readLimit, writeCursor } from './paging.js';
export { eventText, followEvents, readEventData } from './server-sent-events.js';
export {
  decodeBase64,
  isBlankText,
  isUnstorableJson,
  isUnstorableText,
  newUlid,
  oneLine,
  printableJson,
  printableText,
  readTime,
} from './text.js';
export {
  type Deadline,
  retryCommit,
  serialQueue,
  startDeadline,
  Throttle,
  whenServing,
} from './timing.js';
export { readResponse, retryAfterMs } from './upstream-response.js';
